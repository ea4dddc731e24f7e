import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { parseDatabaseUrl } from '../../config/values.ts'
import { explainDatabaseErrors } from '../../process/open-database.ts'
import { secretKeyFile } from '../../process/secrets.ts'
import { formerSecretsFile } from '../../security/secret-key.ts'
import type { DatabaseTarget } from '../../storage/database.ts'
import { useOf } from '../../storage/maintenance/sqlite-copy.ts'
import { type TransferRole, type TransferSide, transfer, withinSqlite } from '../../storage/maintenance/transfer.ts'
import { newerVersion, type OnNewer } from '../../storage/migrations.ts'
import { migrate } from '../../storage/open.ts'
import { addCommand, FROM_INPUT, readSecretOption, requireOptions } from '../terminal/input.ts'
import { contents, JSON_OPTION, type JsonOption, printResult } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'

type MoveOptions = JsonOption & { readonly from: string; readonly to: string }

const URL_HINT =
  'sqlite:path/to/file.db or postgres://user:password@host:port/database; env:NAME reads it from an environment variable, and - from standard input'

export function migrateDataCommands(program: Command): void {
  const command = addCommand(program, 'migrate-data', 'copy everything to another, empty database; stop the service first')
  requireOptions(command, 'all', {
    '--from <url>': `the current database: ${URL_HINT}`,
    '--to <url>': 'the new database, in the same forms',
  })
    .option(...JSON_OPTION)
    .action(moveData)
}

async function moveData(options: MoveOptions): Promise<void> {
  const { from, to } = options
  if (from === FROM_INPUT && to === FROM_INPUT) throw new InvalidInput(['--from, --to: only one of them can be read from standard input'])
  const source = parseTarget('--from', await readSecretOption('--from', from, 'Database URL (--from): '))
  const target = parseTarget('--to', await readSecretOption('--to', to, 'Database URL (--to): '))
  await requireUnused(source)
  await requireOurs(source)
  const steps = await explainDatabaseErrors('--from', source, () => migrate(source, refuseNewer))
  await explainDatabaseErrors('--to', target, () => migrate(target))
  const progress = createProgress('copying', { showsRate: true })
  const moved = await within(source, 'source', (from) => within(target, 'target', (to) => transfer(from, to, progress.update)))
  progress.clear()
  const change = steps.length === 0 ? 'not changed' : 'migrated to this version and otherwise not changed'
  printResult(
    options,
    { rows: moved, migrated_source: steps.length > 0 },
    `Copied ${contents(moved)}. Everything was read back and compared.`,
    'Now set DATABASE_URL to the new database and start the service.',
    aboutSecret(source),
    `The old database was ${change}; keep it until you have seen the new one at work.`,
  )
}

/** Only the newer version knows all of its tables. */
const refuseNewer: OnNewer = ([migration = '']) => {
  throw newerVersion(migration)
}

function parseTarget(option: string, url: string): DatabaseTarget {
  const parsed = parseDatabaseUrl(url)
  if ('error' in parsed) throw new InvalidInput([`${option}: ${parsed.error}`])
  return parsed.value
}

/** Writes of a running service that come after the copy would be lost. */
async function requireUnused(source: DatabaseTarget): Promise<void> {
  if (source.kind === 'sqlite' && !existsSync(source.file)) throw new InvalidInput([`--from: there is no database at ${source.file}`])
  const isUsed = await explainDatabaseErrors('--from', source, async () =>
    source.kind === 'sqlite' ? useOf(source.file) === 'in use' : (await (await postgresSide()).countServiceConnections(source.url)) > 0,
  )
  if (isUsed) throw new InvalidInput(['--from: a service has this database open, and its writes would be lost; stop it and try again'])
}

/** A mistyped name leads to an empty database, or to a foreign one: nothing is copied from there, and nothing is created in it. */
async function requireOurs(source: DatabaseTarget): Promise<void> {
  const { inspectDatabase } = await import('../../storage/maintenance/inspection.ts')
  const isOurs = (await explainDatabaseErrors('--from', source, () => inspectDatabase(source)))?.isOurs
  if (!isOurs) throw new InvalidInput(['--from: this database is empty or does not belong to Latchkey; nothing was copied'])
}

async function within<Result>(
  database: DatabaseTarget,
  role: TransferRole,
  work: (side: TransferSide) => Promise<Result>,
): Promise<Result> {
  if (database.kind === 'sqlite') return withinSqlite(database.file, role, work)
  return (await postgresSide()).withinPostgres(database.url, role, work)
}

/** Loaded here only, because other commands on SQLite do not need the client of PostgreSQL. */
function postgresSide() {
  return import('../../storage/maintenance/transfer-postgres.ts')
}

function aboutSecret(source: DatabaseTarget): string {
  const file = secretKeyFile(source)
  if (file === undefined || !existsSync(file)) return 'Keep the same SECRET_KEY. With another one, every session and mailed link ends.'
  const former = formerSecretsFile(file)
  const fallbacks = existsSync(former) ? `, and SECRET_KEY_FALLBACKS to the lines of ${former}, separated by commas` : ''
  return `Set SECRET_KEY to the content of ${file}${fallbacks}. With another one, every session and mailed link ends.`
}
