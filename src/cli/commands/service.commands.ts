import type { Command } from 'commander'
import type { Config } from '../../config/load.ts'
import { isStartedByNpm } from '../../process/lifecycle/signals.ts'
import { explainDatabaseErrors, migrateDatabase } from '../../process/open-database.ts'
import { COMMAND } from '../../shared/program.ts'
import { counted } from '../../shared/text.ts'
import { longestWait, type Trial, TrialError, type Verdict, verdictOf } from '../../storage/maintenance/upgrade/trial.ts'
import { tryUpgrade } from '../../storage/maintenance/upgrade/try-upgrade.ts'
import { MigrationError } from '../../storage/migrations.ts'
import { addCommand, parsedBy } from '../terminal/input.ts'
import { Interrupted, interruptible } from '../terminal/interruption.ts'
import { JSON_OPTION, type JsonOption, megabytes, print, printJson, printResult } from '../terminal/output.ts'
import { readConfig } from '../with-services.ts'

export function serviceCommands(program: Command): void {
  addCommand(program, 'serve', 'start the service').action(async () => {
    // Loaded here only: the other commands need no HTTP, which takes longer to load than most of them take to run.
    const { startService } = await import('../../process/start.ts')
    await startService(readConfig(), { isByNpm: isStartedByNpm(process.env) })
  })

  addCommand(program, 'migrate', 'migrate the database to this version, as every start does')
    .option(...JSON_OPTION)
    .action(async (options: JsonOption) => {
      let newer: readonly string[] = []
      const migrations = await migrateDatabase(readConfig(), (names) => {
        newer = names
      })
      const applied = migrations.map(({ name }) => name)
      const isNewer = newer.length > 0
      printResult(
        options,
        { applied, ...(isNewer && { newer }) },
        ...applied.map((name) => `applied ${name}`),
        isNewer ? `A newer version has applied ${newer.join(', ')}. This version can use the database.` : 'The database is up to date.',
      )
    })

  upgradeCommand(program)
}

type UpgradeOptions = JsonOption & { readonly maxWait: number }
type Kind = Config['database']['kind']

/** The exit code if the migrations would make requests wait. */
const HEAVY = 3

function upgradeCommand(program: Command): void {
  addCommand(program, 'upgrade', 'say what the pending migrations would do: time, locks and size; `migrate` and every start apply them')
    .requiredOption('--check', 'try them on a copy (SQLite), or in a transaction that is rolled back (PostgreSQL)')
    .option('--max-wait <seconds>', 'PostgreSQL: how long requests may wait for the trial, before it is stopped', secondsOf, 1)
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `\nExit code 0: nothing is pending, or it is harmless. 3: it is heavy, requests would wait. 1: it fails, or could not be tried.`,
    )
    .action(checkUpgrade)
}

const secondsOf = parsedBy((text) => {
  const seconds = Number(text)
  return /^\d+(\.\d+)?$/.test(text) && seconds >= 0.1 && seconds <= 86_400 ? seconds : undefined
}, 'should be a number of seconds from 0.1 to 86400.')

async function checkUpgrade(options: UpgradeOptions): Promise<void> {
  const { database } = readConfig()
  const trial = await explainDatabaseErrors('DATABASE_URL', database, () =>
    interruptible((check) => tryUpgrade(database, { maxWaitMs: options.maxWait * 1000, check })),
  ).catch((error: Error) => {
    // These say by themselves what happened; the database as such can be used.
    const isPlain = [Interrupted, TrialError, MigrationError].some((kind) => error.cause instanceof kind)
    throw isPlain ? error.cause : error
  })
  if (trial === undefined) return printResult(options, { verdict: 'no database' }, 'There is no database yet. The first start creates it.')
  const verdict = verdictOf(trial)
  if (options.json) printJson(toJson(trial, verdict), 2)
  else for (const line of describe(trial, verdict, database.kind)) print(line)
  if (verdict === 'heavy') process.exitCode = HEAVY
}

function toJson({ pending, newer, steps, tookMs, waits, size, stopped }: Trial, verdict: Verdict): object {
  return {
    verdict,
    pending,
    newer,
    steps: steps.map((step) => ({ migration: step.name, took_ms: Math.round(step.tookMs) })),
    took_ms: Math.round(tookMs),
    waits: waits.map(({ table, blocks, forMs }) => ({ table, blocks, for_ms: Math.round(forMs) })),
    bytes: { before: size.before, after: size.after, index_growth: size.indexGrowth ?? null, log: size.log },
    stopped: stopped === undefined ? null : { migration: stopped.name, after_ms: Math.round(stopped.afterMs) },
  }
}

/** The report, in sentences. */
export function describe(trial: Trial, verdict: Verdict, kind: Kind): string[] {
  const { pending, newer, steps, stopped } = trial
  if (newer.length > 0) return [`A newer version has applied ${newer.join(', ')}. This version can use the database; nothing is pending.`]
  if (verdict === 'nothing pending') return ['No migration is pending. The database is up to date.']
  const place = kind === 'sqlite' ? 'on a copy, which was removed' : 'in a transaction, which was rolled back'
  const width = Math.max(...pending.map(({ length }) => length))
  return [
    `${counted(pending.length, 'migration')} ${pending.length === 1 ? 'is' : 'are'} pending. ${pending.length === 1 ? 'It was' : 'They were'} tried ${place}; nothing was changed.`,
    '',
    ...steps.map(({ name, tookMs }) => `  ${name.padEnd(width)}  ${duration(tookMs)}`),
    ...(stopped === undefined ? [] : [`  ${stopped.name.padEnd(width)}  stopped after ${duration(stopped.afterMs)}`]),
    '',
    ...(stopped === undefined ? figures(trial, kind) : locks(trial, kind)),
    '',
    ...conclusion(trial, verdict, kind),
  ]
}

function figures(trial: Trial, kind: Kind): string[] {
  const { before, after, indexGrowth, log } = trial.size
  const growth = after - before
  const parts = indexGrowth === undefined ? '' : ` (tables ${signed(growth - indexGrowth)}, indexes ${signed(indexGrowth)})`
  return [
    `Time:   ${duration(trial.tookMs)}.`,
    ...locks(trial, kind),
    `Size:   ${signed(growth)}, from ${megabytes(before)} to ${megabytes(after)}${parts}. The write-ahead log takes ${megabytes(log)}.`,
  ]
}

function locks({ waits }: Trial, kind: Kind): string[] {
  if (kind === 'sqlite') return ['Locks:  the database is read-only during the migration. The service listens when the migration is done.']
  if (waits.length === 0) return ['Locks:  none that a request waits for.']
  return [...waits]
    .sort((one, other) => other.forMs - one.forMs)
    .map(({ table, blocks, forMs }, place) => `${place === 0 ? 'Locks:' : '      '}  ${blocks} of ${table} wait for ${duration(forMs)}.`)
}

function conclusion({ stopped, waits }: Trial, verdict: Verdict, kind: Kind): string[] {
  const longest = duration(longestWait(waits))
  if (stopped !== undefined)
    return [
      `Heavy: ${stopped.name} makes requests wait for longer than ${longest}. The trial was stopped there, to keep requests from waiting longer; what follows was not tried.`,
      `Measure the rest on a copy of the database, where no request waits: DATABASE_URL=postgres://…/copy ${COMMAND} upgrade --check --max-wait 3600`,
      'Upgrade when few people use the service: requests that wait for longer than 2 seconds are answered with 503, and succeed afterwards.',
    ]
  if (verdict === 'harmless')
    return [
      kind === 'sqlite'
        ? `Harmless: the start takes ${longest} longer.`
        : `Harmless: no request waits${waits.length === 0 ? '' : ` for longer than ${longest}`}. The other processes keep serving.`,
    ]
  return [
    kind === 'sqlite'
      ? `Heavy: the service is down for ${longest} longer than during a restart.`
      : `Heavy: requests wait for up to ${longest}. Those that wait for longer than 2 seconds are answered with 503, and succeed afterwards.`,
    'Upgrade when few people use the service, after a backup.',
  ]
}

function duration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)} ms`
  const seconds = ms / 1000
  return seconds < 120 ? `${seconds.toFixed(1)} s` : `${(seconds / 60).toFixed(1)} minutes`
}

function signed(bytes: number): string {
  return `${bytes < 0 ? '' : '+'}${megabytes(bytes)}`
}
