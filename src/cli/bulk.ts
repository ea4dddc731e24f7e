import type { Command } from 'commander'
import { parseEmail } from '../domain/values/email.ts'
import type { User } from '../model/user.ts'
import type { Services } from '../services.ts'
import { confirm, YES_OPTION } from './terminal/ask.ts'
import { addCommand, FROM_INPUT, readLines } from './terminal/input.ts'
import {
  excerpt,
  isTerminal,
  JSON_OPTION,
  type JsonOption,
  printError,
  printJsonList,
  printResult,
  progressLine,
} from './terminal/output.ts'
import { createProgress } from './terminal/progress.ts'
import { explainRefusal, InvalidInput } from './terminal/refusals.ts'
import { type CommandParts, DRY_RUN_OPTION, type Rehearse, withServices } from './with-services.ts'

export type BulkOptions = JsonOption & { readonly dryRun?: true; readonly yes?: true }

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
  /** Reads the thing after a change. Undefined if it is gone. */
  reload(services: Services, thing: Thing): Promise<Thing | undefined>
  /** References that lead to the same id name the same thing. */
  id(thing: Thing): string | number
  /** Such as `user 3 (bob@example.com)`. */
  label(thing: Thing): string
  json(thing: Thing, state: { readonly isDeleted: boolean }): object
}

/** A change that a bulk command makes, and the phrase that reports it. */
export type Change<Thing> = {
  readonly name: string
  /** Another name of the command. */
  readonly alias?: string
  readonly description: string
  /** `['make', 'made', ' an admin']` reads `made user 3 (…) an admin`, or `would make user 3 (…) an admin`. */
  readonly phrase: readonly [verb: string, past: string, suffix?: string]
  /** Says that there is nothing to change, such as `already banned`. */
  readonly needless?: (thing: Thing) => string | undefined
  /** Set for a deletion, which a person confirms: what else is deleted, such as ` with all sessions`. */
  readonly deletion?: string
  /** Applies the change. A large one calls `onProgress` between its steps. */
  apply(services: Services, thing: Thing, onProgress: (deletedRows: number) => void): Promise<unknown>
}

type Target<Thing> = { readonly reference: string; readonly thing: Thing }
type Outcome<Thing> = { readonly before: Thing; readonly after: Thing | undefined }
type OnFailure = (reference: string, error: unknown) => void

export type BulkRun = {
  readonly services: Services
  readonly rehearse: Rehearse
  readonly given: readonly string[]
  readonly options: BulkOptions
}

/** Adds a command that makes a change to one thing or to many. Its action calls `runBulk`. */
export function bulkCommand<Thing>(parent: Command, change: Change<Thing>, hints: Readonly<Record<string, string>>): Command {
  const command = addCommand(parent, change.name, change.description, hints)
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
  if (change.alias !== undefined) command.alias(change.alias)
  return change.deletion === undefined ? command : command.option(...YES_OPTION)
}

/** Applies a change to one thing, or to many. With many it continues after a failure, and throws SomeFailed at the end. */
export async function runBulk<Thing>(run: BulkRun, subject: Subject<Thing>, change: Change<Thing>): Promise<void> {
  const { services, given, options } = run
  const isSingle = given.length === 1 && given[0] !== FROM_INPUT
  let failed = 0
  const onFailure: OnFailure = (reference, error) => {
    if (isSingle) throw error
    failed++
    for (const line of explainRefusal(error)) printError(`${excerpt(reference)}: ${line}`)
  }

  const targets = await findTargets(services, await readReferences(given), subject, onFailure)
  const total = targets.length + failed
  if (change.deletion !== undefined && !options.dryRun && !options.yes) await confirmDeletion(targets, subject, change)
  const outcomes = applyToEach(targets, change.name, onFailure, (thing) => applyTo(thing, run, subject, change))
  const toJson = (outcome: Outcome<Thing>) => jsonOf(outcome, subject, options)
  if (options.json && !isSingle) await printJsonList(toJson, outcomes)
  else for await (const [outcome] of outcomes) printResult(options, toJson(outcome), describe(outcome, subject, change, options))
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

async function confirmDeletion<Thing>(targets: readonly Target<Thing>[], subject: Subject<Thing>, change: Change<Thing>): Promise<void> {
  const verb = change.phrase[0].charAt(0).toUpperCase() + change.phrase[0].slice(1)
  const labels = targets.map(({ thing }) => subject.label(thing))
  if (labels.length === 1) await confirm(`${verb} ${labels[0]}${change.deletion}`)
  else if (labels.length > 1) await confirm(`${verb} these ${labels.length} ${subject.plural}${change.deletion}`, labels)
}

/** Pages of one, so that each result is printed when it has happened. */
async function* applyToEach<Thing>(
  targets: readonly Target<Thing>[],
  name: string,
  onFailure: OnFailure,
  apply: (thing: Thing) => Promise<Thing | undefined>,
): AsyncIterable<readonly [Outcome<Thing>]> {
  // On a terminal the printed lines show the progress.
  const isTTY = progressLine.isTTY === true && !isTerminal()
  using progress = createProgress(name, { output: { ...progressLine, isTTY } })
  for (const [index, { reference, thing }] of targets.entries()) {
    try {
      yield [{ before: thing, after: await apply(thing) }]
    } catch (error) {
      progress.clear()
      onFailure(reference, error)
    }
    progress.update(index + 1, targets.length)
  }
}

async function applyTo<Thing>(
  thing: Thing,
  { services, rehearse, options }: BulkRun,
  subject: Subject<Thing>,
  change: Change<Thing>,
): Promise<Thing | undefined> {
  async function apply(used: Services, onProgress: (deletedRows: number) => void): Promise<Thing | undefined> {
    await change.apply(used, thing, onProgress)
    return change.deletion === undefined ? subject.reload(used, thing) : undefined
  }
  if (options.dryRun) return rehearse(apply)
  using progress = createProgress(`${change.name} ${subject.label(thing)}`)
  return await apply(services, progress.update)
}

function jsonOf<Thing>({ before, after }: Outcome<Thing>, subject: Subject<Thing>, { dryRun }: BulkOptions): object {
  const isDeleted = after === undefined
  return { ...subject.json(after ?? before, { isDeleted }), ...(isDeleted && { deleted: true }), ...(dryRun && { dry_run: true }) }
}

function describe<Thing>(
  { before, after }: Outcome<Thing>,
  subject: Subject<Thing>,
  change: Change<Thing>,
  { dryRun }: BulkOptions,
): string {
  const label = subject.label(after ?? before)
  const needless = change.needless?.(before)
  if (needless !== undefined) return `${label} is ${needless}`
  const [verb, past, suffix = ''] = change.phrase
  return `${dryRun ? `would ${verb}` : past} ${label}${suffix}`
}

export const USER_HINT = 'the id or the e-mail address of the account'

/** Returns each reference of the command line once; `-` stands for the lines of standard input. */
async function readReferences(given: readonly string[]): Promise<string[]> {
  if (!given.includes(FROM_INPUT)) return [...new Set(given)]
  if (given.length > 1) throw new InvalidInput(['-: reads everything from standard input; do not combine it with other arguments'])
  const lines = (await readLines()).map((line) => line.trim())
  return [...new Set(lines.filter((line) => line !== '' && !line.startsWith('#')))]
}

/** Runs work with the user that an id or an e-mail address names. */
export function withUser<Result>(
  reference: string,
  work: (user: User, services: Services, parts: CommandParts) => Promise<Result>,
): Promise<Result> {
  return withServices(async (services, parts) => work(await findUser(services, reference), services, parts))
}

/** Finds the user that an id or an e-mail address names. */
export async function findUser({ userAdministration }: Pick<Services, 'userAdministration'>, reference: string): Promise<User> {
  if (/^\d+$/.test(reference)) return userAdministration.find(Math.min(Number(reference), Number.MAX_SAFE_INTEGER))
  const email = parseEmail(reference)
  if (email === undefined) throw new InvalidInput(['USER: should be an id or an e-mail address'])
  return userAdministration.findByEmail(email)
}
