import type { Command } from 'commander'
import { EVENT_PAGE_MAX_SIZE, EVENT_PAGE_SIZE, type EventQuery } from '../../domain/audit/audit.service.ts'
import { parsePlace } from '../../domain/audit/chain.ts'
import { acceptTrail } from '../../domain/audit/resealing.ts'
import { createSealer } from '../../domain/audit/sealer.ts'
import { parseInstant } from '../../domain/values/instant.ts'
import { type ChainPlace, eventCursor, parseEventCursor } from '../../model/audit.ts'
import { AUDITED_KINDS } from '../../model/event.ts'
import type { Services } from '../../services.ts'
import { counted } from '../../shared/text.ts'
import { findUser } from '../bulk.ts'
import { confirm, YES_OPTION } from '../terminal/ask.ts'
import { addCommand, countUpTo, parsedBy } from '../terminal/input.ts'
import { JSON_OPTION, type JsonOption, print, printJson, printJsonLines, printNote, printResult, printTable } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { EVENT_FORMAT, problemText, verificationJson, verificationLines } from '../terminal/views.ts'
import { type CommandParts, OPERATOR, withServices } from '../with-services.ts'

type ListOptions = JsonOption & Omit<EventQuery, 'actor' | 'target'> & { readonly actor?: string; readonly target?: string }
type ChangeOptions = JsonOption & { readonly yes?: true }

const USER_HINT = 'the id of a user, also of a deleted one, or an e-mail address'

const kindOf = parsedBy((text) => AUDITED_KINDS.find((kind) => kind === text), `Should be one of ${AUDITED_KINDS.join(', ')}.`)
const timeOf = parsedBy(parseInstant, 'Should be a time with an offset, such as 2026-01-31T09:30:00Z.')
const cursorOf = parsedBy(parseEventCursor, 'Should be a cursor that was printed before.')
const endOf = parsedBy(parsePlace, 'Should be a position and a hash, such as 812:Jx2w0oWn8kqT3n5hG4v0b9sQdZcYl1rP6uAeXfM7iKE.')
const sizeOf = parsedBy(countUpTo(EVENT_PAGE_MAX_SIZE), `Should be a whole number from 1 to ${EVENT_PAGE_MAX_SIZE}.`)

export function auditCommands(program: Command): void {
  const audit = addCommand(program, 'audit', 'read, verify and export the audit trail')

  addCommand(audit, 'list', 'list events, newest first')
    .option('--kind <kind>', `only this kind: ${AUDITED_KINDS.join(', ')}`, kindOf)
    .option('--actor <user>', `only what this user did: ${USER_HINT}`)
    .option('--target <user>', `only what concerns this user: ${USER_HINT}`)
    .option('--since <time>', 'only at this time or later, such as 2026-01-31T09:30:00Z', timeOf)
    .option('--until <time>', 'only at this time or earlier', timeOf)
    .option('--cursor <cursor>', 'continue after a page that was listed before', cursorOf)
    .option('--size <number>', `how many events, 1 to ${EVENT_PAGE_MAX_SIZE}`, sizeOf, EVENT_PAGE_SIZE)
    .option(...JSON_OPTION)
    .action(listEvents)

  addCommand(
    audit,
    'verify',
    'check that no sealed event was changed, removed or inserted; exits with 1 and names the first bad event if one was',
  )
    .option('--expect <end>', 'an end of the chain that was printed or logged before; the chain must still contain it', endOf)
    .option(...JSON_OPTION)
    .action(verify)

  addCommand(audit, 'export', 'print all events, oldest first, one JSON object per line').action(exportEvents)

  addCommand(audit, 'reseal', 'accept all events as they are and seal them again, after SECRET_KEY was lost or tampering was examined')
    .option(...YES_OPTION)
    .option(...JSON_OPTION)
    .action(reseal)

  addCommand(audit, 'erase', 'erase addresses and details of the events of a user, permanently; the trail still verifies', {
    '<user>': USER_HINT,
  })
    .option(...YES_OPTION)
    .option(...JSON_OPTION)
    .action(erase)
}

async function reseal(options: ChangeOptions): Promise<void> {
  await withServices(async ({ audit, reads, changes }, parts) => {
    const { problem } = await audit.verify()
    if (problem === undefined) throw new InvalidInput(['the audit trail is in order; there is no reason to seal it again'])
    if (!options.yes) await confirm('Accept all events as they are and remove the chain')
    const progress = createProgress('signing')
    const events = await acceptTrail({ reads, changes, secrets: parts.secrets() }, OPERATOR.origin, progress.update)
    progress.clear()
    await seal(parts)
    printResult(options, { sealed: events }, `sealed ${counted(events, 'event')} again; what happened before is as it was found`)
  })
}

async function listEvents({ json, actor, target, ...options }: ListOptions): Promise<void> {
  await withServices(async (services) => {
    const query: EventQuery = {
      ...options,
      actor: actor === undefined ? undefined : await userId(services, actor),
      target: target === undefined ? undefined : await userId(services, target),
    }
    const { items, next } = await services.audit.list(query)
    const cursor = next === undefined ? null : eventCursor(next)
    if (json) return printJson({ items: items.map(EVENT_FORMAT.json), next: cursor })
    await printTable(EVENT_FORMAT.columns, [items])
    if (cursor !== null) printNote(`older events: add --cursor ${cursor}`)
  })
}

async function verify({ json, expect: expected }: JsonOption & { readonly expect?: ChainPlace }): Promise<void> {
  const progress = createProgress('verifying')
  const result = await withServices(({ audit }) => audit.verify({ onProgress: progress.update, expected }))
  progress.clear()
  if (json) printJson(verificationJson(result))
  if (result.problem !== undefined) throw new InvalidInput([json ? 'the audit trail was tampered with' : problemText(result)])
  if (expected !== undefined && !result.containsExpected)
    throw new InvalidInput([`--expect: the event at position ${expected.position} was removed after its retention; expect a later end`])
  if (!json) for (const line of verificationLines(result)) print(line)
}

async function exportEvents(): Promise<void> {
  await withServices(async ({ audit }) => {
    for await (const page of await audit.export(OPERATOR)) await printJsonLines(page.map(EVENT_FORMAT.json))
  })
}

async function erase(reference: string, options: ChangeOptions): Promise<void> {
  await withServices(async (services, parts) => {
    const id = await userId(services, reference)
    if (!options.yes) await confirm(`Erase addresses and details of all events of user ${id}`)
    // An event can be erased once it is sealed.
    await seal(parts)
    const erased = await services.audit.erase(OPERATOR, id)
    printResult(options, { erased }, `erased address and details of ${counted(erased, 'event')} of user ${id}`)
  })
}

function seal({ db, secrets }: CommandParts): Promise<void> {
  return createSealer({ db, secrets: secrets(), now: Date.now, onFailure: () => undefined }).run()
}

/** A deleted user has no account to look up, only an id. */
async function userId(services: Services, reference: string): Promise<number> {
  if (/^\d+$/.test(reference)) return Math.min(Number(reference), Number.MAX_SAFE_INTEGER)
  return (await findUser(services, reference)).id
}
