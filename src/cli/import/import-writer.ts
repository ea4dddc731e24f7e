import { type BatchOutcome, createImport, type Import, type ImportOptions } from '../../domain/import/import.service.ts'
import type { ImportedUser } from '../../domain/import/imported-user.ts'
import type { Passwords } from '../../security/password.ts'
import type { Services } from '../../services.ts'
import { createRecordStore } from '../../storage/maintenance/record-store.ts'
import { OPERATOR, type Rehearse } from '../with-services.ts'
import { createBatch, namesOf } from './batch.ts'

export type ImportWriter = {
  /** How many batches may be written at a time, if they have nothing in common. */
  readonly parallel: number
  write(users: readonly ImportedUser[]): Promise<BatchOutcome>
  close(): void
}

/** Where users are imported, or where that is rehearsed. */
export type ImportTarget = { readonly services: Services; readonly rehearse: Rehearse }

export type WriterOptions = { readonly options: ImportOptions; readonly isDryRun: boolean; readonly passwords: Passwords }

/** Writes batches, or rehearses them. */
export function createWriter({ services, rehearse }: ImportTarget, run: WriterOptions): ImportWriter {
  return run.isDryRun ? createRehearsal(rehearse, run) : createRealWriter(services, run)
}

function createRealWriter(services: Services, run: WriterOptions): ImportWriter {
  const target = createImport(services, OPERATOR.origin, run.options)
  const begun = target.begin()
  // Thrown by the first batch.
  begun.catch(() => undefined)
  return {
    // PostgreSQL uses one processor per connection. Ids that are kept can collide, and the sequence of new ones is set after each batch.
    parallel: run.options.keepIds ? 1 : 2,
    async write(users) {
      await begun
      return target.write(await hashPasswords(target, users, run))
    },
    close: () => undefined,
  }
}

/**
 * Rehearses each batch in a transaction that is rolled back. Users of earlier batches that have something in common with this one are
 * written into the transaction first, so that the rules see what they would see in the import.
 */
function createRehearsal(rehearse: Rehearse, { options }: WriterOptions): ImportWriter {
  const earlier = createRecordStore<ImportedUser>()
  const allNames = (user: ImportedUser) => (options.keepIds ? [...namesOf(user), `id ${user.id}`] : namesOf(user))
  return {
    // Each sees what the ones before it would have left.
    parallel: 1,
    async write(users) {
      const related = earlier.find(users.flatMap(allNames))
      const outcome = await rehearse(async (services) => {
        const target = createImport(services, OPERATOR.origin, { ...options, isRehearsal: true })
        for (const batch of batchesOf(related)) await target.write(batch)
        return target.write(users)
      })
      const { created, updated } = outcome ?? NO_OUTCOME
      earlier.add([...created, ...updated].map((user) => ({ names: allNames(user), value: remembered(user) })))
      return outcome ?? NO_OUTCOME
    },
    close: earlier.close,
  }
}

const NO_OUTCOME: BatchOutcome = { created: [], updated: [], skipped: [], rejected: [] }

function batchesOf(users: readonly ImportedUser[]): (readonly ImportedUser[])[] {
  const batches: (readonly ImportedUser[])[] = []
  const batch = createBatch<ImportedUser>()
  for (const user of users) {
    if (!batch.accepts(user)) batches.push(batch.take().entries)
    batch.add(user, user)
  }
  return [...batches, batch.take().entries].filter(({ length }) => length > 0)
}

/** What later users can conflict with, and no secret. */
function remembered(user: ImportedUser): ImportedUser {
  return { ...user, firstName: undefined, lastName: undefined, password: undefined, passwordHash: undefined, foreignKind: undefined }
}

/** Replaces passwords by their hashes. Hashing is slow: nothing is hashed for an account that exists and stays as it is. */
async function hashPasswords(
  target: Import,
  users: readonly ImportedUser[],
  { options, passwords }: WriterOptions,
): Promise<ImportedUser[]> {
  const isPlain = users.some(({ password }) => password !== undefined)
  const existing: ReadonlySet<string> = isPlain && options.onConflict !== 'update' ? await target.existing(users) : new Set()
  return Promise.all(
    users.map(async (user) => {
      if (user.password === undefined || existing.has(user.emailKey)) return user
      return { ...user, passwordHash: await passwords.hash(user.password), password: undefined }
    }),
  )
}
