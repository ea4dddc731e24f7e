/** How far the primary had written, and which database it is. */
export type PrimaryPosition = { readonly lsn: string; readonly instance: string }

/** What a replica says about itself. Only a server that was never a replica has no position. */
export type ReplicaProgress = { readonly isReplica: boolean; readonly lsn: string | null; readonly instance: string }

export type Lag = {
  /** Compares both servers. Returns why the replica cannot be used, or undefined. */
  check(): Promise<string | undefined>
  /** Whether the replica had, a few seconds ago, everything that the primary had then. */
  isRecent(): boolean
  /** The position of the primary that the replica had reached then. */
  reached(): string
}

const MAX_LAG_MS = 5000

/**
 * Measures how old the state of a replica may be: the position of the primary is noted together with the time, and once the replica has
 * reached that position, it is at least as recent as that time. This also notices a replica that receives nothing any more, which
 * the clocks of the two servers would not. A former primary that came back as a standby may have writes that were lost in the failover:
 * it is ahead of the primary, which no replica of it can be.
 */
export function createLag(readPosition: () => Promise<PrimaryPosition>, readProgress: () => Promise<ReplicaProgress>): Lag {
  let noted: { readonly position: PrimaryPosition; readonly at: number } | undefined
  let recentAt = Number.NEGATIVE_INFINITY
  let reached = '0/0'

  return {
    async check() {
      if (noted === undefined) {
        const at = performance.now()
        noted = { position: await readPosition(), at }
      }
      const { isReplica, lsn, instance } = await readProgress()
      if (!isReplica) return 'the server of DATABASE_READ_URL is not a replica, or was promoted'
      if (instance !== noted.position.instance) return 'the server of DATABASE_READ_URL is a replica of another database'
      if (lsn !== null && toNumber(lsn) >= toNumber(noted.position.lsn)) {
        const { lsn: end } = await readPosition()
        if (toNumber(lsn) > toNumber(end)) return 'the server of DATABASE_READ_URL has writes that the primary does not have'
        recentAt = noted.at
        reached = noted.position.lsn
        noted = undefined
      }
      return noted === undefined || performance.now() - noted.at <= MAX_LAG_MS ? undefined : 'the replica is more than 5 seconds behind'
    },
    isRecent: () => performance.now() - recentAt <= MAX_LAG_MS,
    reached: () => reached,
  }
}

/** A position is written as two hexadecimal numbers of up to 32 bits, such as `16/B374D848`. */
function toNumber(lsn: string): bigint {
  const [high, low] = lsn.split('/')
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}
