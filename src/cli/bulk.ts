import { parseEmail } from '../domain/values/email.ts'
import type { User } from '../model/user.ts'
import type { Services } from '../services.ts'
import { confirmDeletion } from './terminal/ask.ts'
import { FROM_INPUT, readLines } from './terminal/input.ts'
import { createJsonPrinter, excerpt, isTerminal, print, printError, printJson, progressLine } from './terminal/output.ts'
import { createProgress } from './terminal/progress.ts'
import { explainRefusal, InvalidInput } from './terminal/refusals.ts'
import type { Rehearse } from './with-services.ts'

export type BulkOptions = { readonly json?: true; readonly dryRun?: true; readonly yes?: true }

/** Some items of a bulk command failed. A line about each has been printed already. */
export class SomeFailed extends Error {
  override readonly name = 'SomeFailed'
  readonly exitCode: number

  constructor(exitCode = 1) {
    super()
    this.exitCode = exitCode
  }
}

/** The things that a bulk command works on: accounts, API keys or mails. */
export type Subject<Thing> = {
  readonly plural: string
  /** Finds the thing that a reference names, or throws. */
  find(services: Services, reference: string): Promise<Thing>
  /** References that lead to the same id name the same thing. */
  id(thing: Thing): string | number
  /** Such as `user 3 (bob@example.com)`. */
  label(thing: Thing): string
  json(thing: Thing, isDeleted: boolean): object
}

/** A change that a bulk command makes, and the phrase that reports it. */
export type Change<Thing> = {
  readonly name: string
  /** `['make', 'made', ' an admin']` reads `made user 3 (…) an admin`, or `would make user 3 (…) an admin`. */
  readonly phrase: readonly [verb: string, past: string, suffix?: string]
  /** Says that there is nothing to change, such as `already banned`. */
  readonly needless?: (thing: Thing) => string | undefined
  /** Set for a deletion, which a person confirms: what else is deleted, such as ` with all sessions`. */
  readonly deletion?: string
  /** Applies the change. Returns the thing as it is then; undefined if it is gone. A large change calls `onProgress` between its steps. */
  apply(services: Services, thing: Thing, onProgress: OnProgress): Promise<Thing | undefined>
}

export type OnProgress = (deletedRows: number) => void

type Target<Thing> = { readonly reference: string; readonly thing: Thing }
type Outcome<Thing> = { readonly before: Thing; readonly after: Thing | undefined }
type OnFailure = (reference: string, error: unknown) => void

export type BulkRun = {
  readonly services: Services
  readonly rehearse: Rehearse
  readonly given: readonly string[]
  readonly options: BulkOptions
}

/** Applies a change to one thing, or to many. With many it continues after a failure, and throws SomeFailed at the end. */
export async function runBulk<Thing>(
  { services, rehearse, given, options }: BulkRun,
  subject: Subject<Thing>,
  change: Change<Thing>,
): Promise<void> {
  const isDryRun = options.dryRun === true
  const isSingle = given.length === 1 && given[0] !== FROM_INPUT
  let failed = 0
  const onFailure: OnFailure = (reference, error) => {
    if (isSingle) throw error
    failed++
    for (const line of explainRefusal(error)) printError(`${excerpt(reference)}: ${line}`)
  }

  const targets = await findTargets(services, await readReferences(given), subject, onFailure)
  const total = targets.length + failed
  if (change.deletion !== undefined && !isDryRun && !options.yes) await confirm(targets, subject, change)
  const outcomes = applyToEach(targets, change, onFailure, (thing) =>
    isDryRun
      ? rehearse((rehearsed, stop) => change.apply(rehearsed, thing, stop))
      : withRowProgress(`${change.name} ${subject.label(thing)}`, (onProgress) => change.apply(services, thing, onProgress)),
  )
  const toJson = (outcome: Outcome<Thing>) => jsonOf(outcome, subject, isDryRun)
  if (options.json && !isSingle) await createJsonPrinter(toJson).list(outcomes)
  else
    for await (const [outcome] of outcomes)
      if (options.json) printJson(toJson(outcome))
      else print(describe(outcome, subject, change, isDryRun))
  if (failed === 0) return
  printError(`${failed} of ${total} failed`)
  throw new SomeFailed()
}

/** Finds everything before the first change, so that a person confirms real accounts, and one that is named twice counts once. */
async function findTargets<Thing>(
  services: Services,
  references: readonly string[],
  subject: Subject<Thing>,
  onFailure: OnFailure,
): Promise<Target<Thing>[]> {
  const targets = new Map<string | number, Target<Thing>>()
  for (const reference of references) {
    try {
      const thing = await subject.find(services, reference)
      if (!targets.has(subject.id(thing))) targets.set(subject.id(thing), { reference, thing })
    } catch (error) {
      onFailure(reference, error)
    }
  }
  return [...targets.values()]
}

async function confirm<Thing>(targets: readonly Target<Thing>[], subject: Subject<Thing>, change: Change<Thing>): Promise<void> {
  const [verb] = change.phrase
  await confirmDeletion({
    verb: verb.charAt(0).toUpperCase() + verb.slice(1),
    labels: targets.map(({ thing }) => subject.label(thing)),
    plural: subject.plural,
    consequence: change.deletion ?? '',
  })
}

/** Pages of one, so that each result is printed when it has happened. */
async function* applyToEach<Thing>(
  targets: readonly Target<Thing>[],
  { name }: Change<Thing>,
  onFailure: OnFailure,
  apply: (thing: Thing) => Promise<Thing | undefined>,
): AsyncIterable<readonly [Outcome<Thing>]> {
  // On a terminal the printed lines show the progress.
  const isTTY = progressLine.isTTY === true && !isTerminal()
  const progress = createProgress(name, { output: { ...progressLine, isTTY } })
  for (const [index, { reference, thing }] of targets.entries()) {
    try {
      yield [{ before: thing, after: await apply(thing) }]
    } catch (error) {
      progress.clear()
      onFailure(reference, error)
    }
    progress.update(index + 1, targets.length)
  }
  progress.clear()
}

/** Shows how many rows are deleted while a single large change runs. */
async function withRowProgress<Result>(label: string, work: (onProgress: OnProgress) => Promise<Result>): Promise<Result> {
  const progress = createProgress(label)
  try {
    return await work((rows) => progress.update(rows))
  } finally {
    progress.clear()
  }
}

function jsonOf<Thing>({ before, after }: Outcome<Thing>, subject: Subject<Thing>, isDryRun: boolean): object {
  return {
    ...subject.json(after ?? before, after === undefined),
    ...(after === undefined && { deleted: true }),
    ...(isDryRun && { dry_run: true }),
  }
}

function describe<Thing>({ before, after }: Outcome<Thing>, subject: Subject<Thing>, change: Change<Thing>, isDryRun: boolean): string {
  const label = subject.label(after ?? before)
  const needless = change.needless?.(before)
  if (needless !== undefined) return `${label} is ${needless}`
  const [verb, past, suffix = ''] = change.phrase
  return `${isDryRun ? `would ${verb}` : past} ${label}${suffix}`
}

export const USER_HINT = 'the id or the e-mail address of the account'
export const USERS_HINT = 'the ids or e-mail addresses of the accounts, or - to read them from standard input, one per line'

/** Returns each reference of the command line once; `-` stands for the lines of standard input. */
async function readReferences(given: readonly string[]): Promise<string[]> {
  if (!given.includes(FROM_INPUT)) return [...new Set(given)]
  if (given.length > 1) throw new InvalidInput(['-: reads everything from standard input; do not combine it with other arguments'])
  const lines = (await readLines()).map((line) => line.trim())
  return [...new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))]
}

/** Finds the user that an id or an e-mail address names. */
export async function findUser({ userAdministration }: Pick<Services, 'userAdministration'>, reference: string): Promise<User> {
  if (/^\d+$/.test(reference)) return userAdministration.find(Math.min(Number(reference), Number.MAX_SAFE_INTEGER))
  const email = parseEmail(reference)
  if (email === undefined) throw new InvalidInput(['USER: should be an id or an e-mail address'])
  return userAdministration.findByEmail(email)
}
