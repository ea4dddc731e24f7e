import { readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { createImport, type OnConflict } from '../../domain/import/import.service.ts'
import { openBlocklist } from '../../security/blocklist.ts'
import { createPasswords, hashingThreads, PASSWORD_OPTIONS, type Passwords } from '../../security/password.ts'
import { codeOf, explainSystemError } from '../../shared/errors.ts'
import { SomeFailed } from '../bulk.ts'
import { type JsonOption, printNote, printResult } from '../terminal/output.ts'
import { explaining, InvalidInput } from '../terminal/refusals.ts'
import { OPERATOR, withServices } from '../with-services.ts'
import { type Survey, surveyFile } from './check-file.ts'
import { type Counts, importFile } from './import-file.ts'
import { NotThatFile } from './records.ts'
import { createRejects } from './rejects.ts'
import { type HashConfig, parseHashConfig } from './sources/firebase.source.ts'
import type { Source } from './sources/source.ts'
import type { SourceName } from './sources/source-names.ts'
import { createSource } from './sources/sources.ts'
import { describeUnread, type UnreadField } from './unread-fields.ts'

export type ImportCommandOptions = JsonOption & {
  readonly from: SourceName
  readonly onConflict: OnConflict
  readonly keepIds?: true
  readonly withoutPasswords?: true
  readonly rejects?: string
  readonly hashConfig?: string
  readonly dryRun?: true
}

/** Imports a file: checks all of it, then writes it in batches, and prints counts that add up. */
export async function runImport(file: string, given: ImportCommandOptions): Promise<void> {
  keepMemoryLow()
  const source = createSource(given.from, readHashConfig(given))
  const check = { withoutPasswords: given.withoutPasswords === true }
  const options = { onConflict: given.onConflict, keepIds: given.keepIds === true }
  const isDryRun = given.dryRun === true
  if (given.rejects !== undefined && isSameFile(given.rejects, file))
    throw new InvalidInput([`--rejects: ${file} is the file that is imported; choose another one`])
  const survey = await examine(file, source, check)
  for (const field of survey.unread) printNote(describeUnread(field))
  const passwords = createPasswords({ ...PASSWORD_OPTIONS, maxWaitMs: Number.POSITIVE_INFINITY })
  if (survey.plaintextCount > 0) await announceHashing(survey.plaintextCount, passwords)
  await withServices(async (services, { rehearse, config }) => {
    const { first } = survey
    const target = createImport(services, OPERATOR.origin, options)
    if (options.keepIds && first !== undefined && !(await target.mayKeepIds(first)))
      throw new InvalidInput(['--keep-ids: the database is not empty; import into a new one, or without the ids'])
    const blocklist = survey.plaintextCount > 0 ? await openBlocklist(config.passwordBlocklist) : undefined
    using rejects = createRejects(given.rejects)
    try {
      const checkAll = { ...check, keyScopes: config.keyScopes, foreignKinds: await target.foreignKinds(survey.usersByKind) }
      const run = { file, source, check: checkAll, options, isDryRun, total: survey.total, rejects, passwords, blocklist }
      report(await importFile({ services, rehearse }, run), given, survey.unread)
    } finally {
      await blocklist?.close()
    }
  })
}

/** Also by another name: the file of rejects is emptied before the users are read. */
function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }))
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev
}

/** By default V8 reserves 60 MB for short-lived objects and lets the heap grow to 100 MB. An import keeps almost nothing. */
function keepMemoryLow(): void {
  setFlagsFromString('--heap-growing-percent=30')
  setFlagsFromString('--max-semi-space-size=4')
  setFlagsFromString('--semi-space-growth-factor=1')
}

async function examine(file: string, source: Source, check: { readonly withoutPasswords: boolean }): Promise<Survey> {
  try {
    return await surveyFile(file, source, check)
  } catch (error) {
    if (error instanceof NotThatFile)
      throw new InvalidInput([`${file} is not an export of ${source.title}: ${error.message}; nothing was imported`])
    if (codeOf(error) !== '') throw new InvalidInput([`${file} cannot be read: ${explainSystemError(error)}; nothing was imported`])
    throw error
  }
}

function readHashConfig({ from, hashConfig: file }: ImportCommandOptions): HashConfig | undefined {
  if (file === undefined) return undefined
  if (from !== 'firebase') throw new InvalidInput(['--hash-config: belongs to --from firebase'])
  const config = parseHashConfig(explaining(`--hash-config: ${file} cannot be read`, () => readFileSync(file, 'utf8')))
  if (config === undefined)
    throw new InvalidInput([
      `--hash-config: ${file} should have algorithm SCRYPT, base64_signer_key, base64_salt_separator, rounds and mem_cost`,
    ])
  return config
}

/** Plaintext passwords are hashed one by one, which takes most of the time of such an import. */
async function announceHashing(count: number, passwords: Passwords): Promise<void> {
  await passwords.hash('the first hash also loads the library')
  const threads = hashingThreads(availableParallelism(), process.env['UV_THREADPOOL_SIZE'])
  const startedAt = performance.now()
  await passwords.hash('a password of usual length')
  const seconds = Math.ceil((count * (performance.now() - startedAt)) / 1000 / threads)
  printNote(`hashing ${count} passwords takes about ${seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} minutes`}`)
}

/** Prints the counts. Throws if they do not add up, or if a user was rejected: the exit code is 1 then. */
export function report(counts: Counts, options: JsonOption & { readonly dryRun?: true }, unread: readonly UnreadField[]): void {
  const { read, created, updated, skipped, rejected } = counts
  const notImported = unread.map(({ name, users }) => ({ field: name ?? null, users }))
  printResult(
    options,
    { ...counts, ...(options.dryRun && { dry_run: true }), ...(unread.length > 0 && { not_imported: notImported }) },
    ...(options.dryRun ? ['dry run: nothing was imported'] : []),
    `read ${read} = created ${created} + updated ${updated} + skipped ${skipped} + rejected ${rejected}`,
  )
  if (read !== created + updated + skipped + rejected)
    throw new Error('the counts do not add up; check the accounts before you rely on them')
  if (rejected > 0) throw new SomeFailed()
}
