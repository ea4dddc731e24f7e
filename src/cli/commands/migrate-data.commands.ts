import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import type { DatabaseTarget } from '../../config/load.ts'
import { parseDatabaseUrl } from '../../config/values.ts'
import { inWordsOf } from '../../process/open-database.ts'
import { inspectDatabase } from '../../storage/maintenance/inspection.ts'
import { useOf } from '../../storage/maintenance/sqlite-copy.ts'
import { type TransferSide, transfer } from '../../storage/maintenance/transfer.ts'
import { countServiceConnections, withinPostgres } from '../../storage/maintenance/transfer-postgres.ts'
import { withinSqlite } from '../../storage/maintenance/transfer-sqlite.ts'
import { migrate } from '../../storage/open.ts'
import { contents, print } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'

type MoveOptions = { readonly from: string; readonly to: string }

const URL_HINT = 'sqlite:path/to/file.db or postgres://user:password@host:port/database'

export function migrateDataCommands(program: Command): void {
  program
    .command('migrate-data')
    .description('move everything from one database to another, new one; the service has to be stopped')
    .requiredOption('--from <url>', `the database as it is: ${URL_HINT}`)
    .requiredOption('--to <url>', 'the new database')
    .action(moveData)
}

async function moveData({ from, to }: MoveOptions): Promise<void> {
  const [source, target] = [parseTarget('--from', from), parseTarget('--to', to)]
  await requireUnused(source)
  await requireOurs(source)
  const steps = await inWordsOf('--from', source, () => migrate(source))
  await inWordsOf('--to', target, () => migrate(target))
  const progress = createProgress('moving')
  const moved = await within(source, false, (reading) => within(target, true, (writing) => transfer(reading, writing, progress.update)))
  progress.clear()
  print(`Moved ${contents(moved)}. Everything was read back and compared.`)
  print('Now set DATABASE_URL to the new database and start the service.')
  print(aboutSecret(source))
  const change = steps.length === 0 ? 'left as it is' : 'brought up to this version, and is otherwise as it was'
  print(`The old database was ${change}; keep it until you have seen the new one at work.`)
}

function parseTarget(option: string, url: string): DatabaseTarget {
  const parsed = parseDatabaseUrl(url)
  if ('fault' in parsed) throw new InvalidInput([`${option}: ${parsed.fault}`])
  return parsed.value
}

/** What a service writes after it was read would be lost. */
async function requireUnused(source: DatabaseTarget): Promise<void> {
  if (source.kind === 'sqlite' && !existsSync(source.file)) throw new InvalidInput([`--from: there is no database at ${source.file}`])
  const isUsed =
    source.kind === 'sqlite'
      ? (await inWordsOf('--from', source, async () => useOf(source.file))) === 'in use'
      : (await inWordsOf('--from', source, () => countServiceConnections(source.url))) > 0
  if (isUsed) throw new InvalidInput(['--from: a service has this database open, and what it writes would be lost; stop it and try again'])
}

/** A name that was mistyped leads to an empty database, or to somebody else's: nothing is moved from there, and nothing made in it. */
async function requireOurs(source: DatabaseTarget): Promise<void> {
  const isOurs = (await inWordsOf('--from', source, () => inspectDatabase(source)))?.isOurs
  if (!isOurs) throw new InvalidInput(['--from: this is not a database of Latchkey, or an empty one; nothing was moved'])
}

function within<Result>(target: DatabaseTarget, isTarget: boolean, work: (side: TransferSide) => Promise<Result>): Promise<Result> {
  return target.kind === 'sqlite' ? withinSqlite(target.file, isTarget, work) : withinPostgres(target.url, isTarget, work)
}

function aboutSecret(source: DatabaseTarget): string {
  const file = source.kind === 'sqlite' ? join(dirname(source.file), 'secret.key') : undefined
  return file !== undefined && existsSync(file)
    ? `Set SECRET_KEY to the content of ${file}: with another one every session and mailed link ends.`
    : 'Keep SECRET_KEY as it is: with another one every session and mailed link ends.'
}
