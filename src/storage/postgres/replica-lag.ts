/** How far the primary had written, and which database it is. */
export type PrimaryPosition = { readonly lsn: string; readonly instance: string }

/** What a replica says about itself, compared with a position of the primary. */
export type ReplicaProgress = { readonly isReplica: boolean; readonly hasReached: boolean | null; readonly instance: string }

export type Lag = {
  /** Compares both servers. Returns why the replica cannot be used, or undefined. */
  check(): Promise<string | undefined>
  /** Whether the replica had, a few seconds ago, everything that the primary had then. */
  isRecent(): boolean
}

const MAX_LAG_MS = 5000

/**
 * Measures how old the state of a replica may be: the position of the primary is noted together with the time, and once the replica has
 * reached that position, it is at least as recent as that time. This also notices a replica that receives nothing any more, which
 * the clocks of the two servers would not.
 */
export function createLag(
  readPosition: () => Promise<PrimaryPosition>,
  readProgress: (position: PrimaryPosition) => Promise<ReplicaProgress>,
): Lag {
  let noted: { readonly position: PrimaryPosition; readonly at: number } | undefined
  let recentAt = Number.NEGATIVE_INFINITY

  return {
    async check() {
      if (noted === undefined) {
        const at = performance.now()
        noted = { position: await readPosition(), at }
      }
      const { isReplica, hasReached, instance } = await readProgress(noted.position)
      if (!isReplica) return 'the server of DATABASE_READ_URL is not a replica, or was promoted'
      if (instance !== noted.position.instance) return 'the server of DATABASE_READ_URL is a replica of another database'
      if (hasReached) {
        recentAt = noted.at
        noted = undefined
      }
      return noted === undefined || performance.now() - noted.at <= MAX_LAG_MS ? undefined : 'the replica is more than 5 seconds behind'
    },
    isRecent: () => performance.now() - recentAt <= MAX_LAG_MS,
  }
}
