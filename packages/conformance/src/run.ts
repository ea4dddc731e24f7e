import { createAccounts } from './accounts.ts'
import { areaOf, type Check, NotApplicable } from './check.ts'
import { ALL_CHECKS } from './checks/all-checks.ts'
import { type Answer, type Client, createClient, type Exchange, Unanswered } from './client.ts'
import { createContext, createShared } from './context.ts'
import { Mismatch } from './expect.ts'
import { createLedger } from './ledger.ts'
import { type Mailbox, openMailbox } from './mailbox.ts'
import { createMasking, type Masking } from './masking.ts'
import { requireUsable } from './preflight.ts'
import { type RemovalParts, removeAccounts } from './removal.ts'
import { Unusable } from './unusable.ts'

/** `differs`: a choice of Latchkey that this implementation decided otherwise, which is not an error. */
export type Outcome = 'passed' | 'failed' | 'differs' | 'skipped'

export type Result = {
  readonly check: Check
  readonly outcome: Outcome
  readonly durationMs: number
  /** Why a check was skipped or could not be completed. */
  readonly reason?: string
  readonly expected?: string
  readonly received?: string
  readonly exchange?: Exchange
}

export type RunOptions = {
  readonly url: string
  readonly adminKey: string
  readonly mailbox?: string | undefined
  /** Areas, or ids of checks. */
  readonly only?: readonly string[] | undefined
  /** Whether a difference is a failure. */
  readonly isStrict?: boolean | undefined
  /** Throws when the run was interrupted. */
  readonly checkpoint?: () => void
  readonly onProgress?: (done: number, total: number) => void
  /** Called with the addresses of accounts that could not be removed. */
  readonly onLeft?: (addresses: readonly string[]) => void
}

export type Run = {
  readonly url: string
  readonly results: readonly Result[]
  readonly durationMs: number
  readonly accounts: { readonly created: number; readonly left: readonly string[] }
}

// Few, because most checks make the service hash passwords.
const CONCURRENCY = 4
/** The maximum length of a reason, and of what was expected or received. */
const MAX_LENGTH = 300

/** Runs the checks, and removes the accounts that they created, also after an error or an interruption. */
export async function runConformance(options: RunOptions): Promise<Run> {
  const { checkpoint = () => undefined } = options
  const startedAt = performance.now()
  const url = options.url.replace(/\/+$/, '')
  const checks = selectChecks(options.only)
  const mailbox = options.mailbox === undefined ? undefined : await openMailbox(options.mailbox, checkpoint)
  const masking = createMasking()
  const operator = { key: options.adminKey }
  const ledger = createLedger()
  const clientFor = (onAnswer?: (answer: Answer) => void): Client =>
    createClient({
      url,
      masking,
      checkpoint,
      onAnswer: (method, path, call, answer) => {
        ledger.observe(method, path, call, answer)
        onAnswer?.(answer)
      },
    })
  const client = clientFor()
  const accounts = createAccounts({ client, admin: operator, mailbox, ledger })
  const cleaner = createClient({ url, masking, checkpoint: () => undefined })
  let results: readonly Result[] = []
  let left: readonly string[] = []
  try {
    await requireUsable(client, accounts, operator, url)
    const shared = createShared(client, accounts, operator)
    const contextFor = (watched: Client) => createContext(watched, accounts, operator, shared, mailbox)
    results = await runAll(checks, { ...options, checkpoint }, mailbox, (check) =>
      runOne(check, { isStrict: options.isStrict === true, masking, checkpoint, clientFor, contextFor }),
    )
  } finally {
    left = await cleanUp({ client: cleaner, admin: operator, ledger })
    if (left.length > 0) options.onLeft?.(left)
  }
  return { url, results, durationMs: performance.now() - startedAt, accounts: { created: ledger.created(), left } }
}

function selectChecks(only: readonly string[] | undefined): readonly Check[] {
  if (only === undefined) return ALL_CHECKS
  const isSelected = (check: Check) => only.includes(areaOf(check)) || only.includes(check.id)
  const unknown = only.filter((name) => !ALL_CHECKS.some((check) => areaOf(check) === name || check.id === name))
  const areas = [...new Set(ALL_CHECKS.map(areaOf))]
  if (unknown.length > 0)
    throw new Unusable(unknown.map((name) => `--only: there is no area or check ${name}; the areas are ${areas.join(', ')}`))
  return ALL_CHECKS.filter(isSelected)
}

async function runAll(
  checks: readonly Check[],
  { checkpoint, onProgress }: Required<Pick<RunOptions, 'checkpoint'>> & Pick<RunOptions, 'onProgress'>,
  mailbox: Mailbox | undefined,
  run: (check: Check) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const queue = checks.entries()
  let done = 0
  const work = async () => {
    for (const [index, check] of queue) {
      checkpoint()
      const isSkipped = check.needsMailbox && mailbox === undefined
      results[index] = isSkipped ? { check, outcome: 'skipped', durationMs: 0, reason: 'needs a mailbox' } : await run(check)
      onProgress?.(++done, checks.length)
    }
  }
  // Every worker is awaited before an error is passed on: a request that still runs could create an account after the removal.
  const ended = await Promise.allSettled(Array.from({ length: CONCURRENCY }, work))
  for (const worker of ended) if (worker.status === 'rejected') throw worker.reason
  return results
}

type CheckParts = {
  readonly isStrict: boolean
  readonly masking: Masking
  readonly checkpoint: () => void
  readonly clientFor: (onAnswer: (answer: Answer) => void) => Client
  readonly contextFor: (client: Client) => ReturnType<typeof createContext>
}

async function runOne(check: Check, { isStrict, masking, checkpoint, clientFor, contextFor }: CheckParts): Promise<Result> {
  const startedAt = performance.now()
  let last: Answer | undefined
  const result = (rest: Omit<Result, 'check' | 'durationMs'>): Result => ({ check, durationMs: performance.now() - startedAt, ...rest })
  // Masked first: a part of a secret would not be recognised.
  const shown = (text: string) => shorten(masking.mask(text))
  const failed: Outcome = check.level === 'choice' && !isStrict ? 'differs' : 'failed'
  try {
    await check.run(contextFor(clientFor((answer) => (last = answer))))
    return result({ outcome: 'passed' })
  } catch (error) {
    // After an interruption the check has failed for no reason of its own.
    checkpoint()
    if (error instanceof NotApplicable) return result({ outcome: 'skipped', reason: shown(error.message) })
    if (error instanceof Unanswered) return result({ outcome: 'failed', reason: shown(error.message) })
    if (!(error instanceof Mismatch))
      return result({ outcome: 'failed', reason: shown(`the check could not be completed: ${String(error)}`) })
    const exchange = (error.answer ?? last)?.exchange()
    return result({ outcome: failed, expected: shown(error.expected), received: shown(error.received), ...(exchange && { exchange }) })
  }
}

function shorten(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text
}

/** Never throws: an error of the run is more important than one of the removal, which the report names too. */
async function cleanUp(parts: RemovalParts): Promise<readonly string[]> {
  const { ledger } = parts
  if (ledger.created() === 0) return []
  try {
    return await removeAccounts(parts)
  } catch (error) {
    return [`${ledger.marker}-…@example.com (${error instanceof Error ? error.message : String(error)})`]
  }
}
