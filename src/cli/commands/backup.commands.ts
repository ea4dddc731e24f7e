import { existsSync, renameSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { withDotEnv } from '../../config/dotenv.ts'
import { type Config, loadConfig } from '../../config/load.ts'
import { messageOf } from '../../process/open-database.ts'
import {
  type Counts,
  checkSqlite,
  copyInto,
  copySqlite,
  copyWhole,
  createEmpty,
  flush,
  type OnPages,
  requireOwnSchema,
  useOf,
} from '../../storage/maintenance/sqlite-copy.ts'
import { Interrupted, interruptible } from '../terminal/interruption.ts'
import { contents, print } from '../terminal/output.ts'
import { createProgress, type Progress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'

export function backupCommands(program: Command): void {
  program
    .command('backup')
    .description('write a checked copy of the SQLite database, while the service runs or not')
    .argument('<file>', 'the file to write')
    .option('--force', 'replace the file if it exists')
    .action(backUp)

  program
    .command('restore')
    .description('put a copy that `backup` has written in the place of the SQLite database; the service has to be stopped')
    .argument('<file>', 'the copy')
    .action(restore)
}

async function backUp(file: string, { force }: { readonly force?: true }): Promise<void> {
  const config = loadConfig(withDotEnv(process.env))
  const database = sqliteFile(config, `pg_dump --format=custom --file=${file} "$DATABASE_URL"`)
  if (!existsSync(database))
    throw new InvalidInput([
      `DATABASE_URL: there is no database at ${database}, or this account may not look into its folder; nothing was backed up`,
    ])
  if (resolve(file) === resolve(database)) throw new InvalidInput([`${file} is the database itself; name another file`])
  if (existsSync(file) && !force) throw new InvalidInput([`${file} exists already; name another file, or replace it with --force`])
  // A folder that is missing may be a disk that is not mounted: it is not made.
  if (!existsSync(dirname(file))) throw new InvalidInput([`${dirname(file)} does not exist; make it, or mount it, first`])
  const counts = await copyTo(database, file, force === true)
  print(`Backed up ${database} to ${file}, ${megabytes(file)}: ${contents(counts)}. The copy was checked.`)
  for (const line of aboutSecret(config)) print(line)
}

async function copyTo(database: string, file: string, mayReplace: boolean): Promise<Counts> {
  const progress = createProgress('copying')
  try {
    return await interruptible((check) => copySqlite(database, file, mayReplace, afterEach(check, progress)))
  } catch (error) {
    if (error instanceof Interrupted) throw error
    throw new Error(`${file} was not written: ${messageOf(error)}`, { cause: error })
  } finally {
    progress.clear()
  }
}

async function keepAs(database: string, aside: string): Promise<void> {
  const progress = createProgress('keeping what is there')
  try {
    await interruptible((check) => copyWhole(database, aside, afterEach(check, progress)))
  } catch (error) {
    if (error instanceof Interrupted) throw error
    throw new Error(`${database} was left as it is: what it holds could not be kept as ${aside}: ${messageOf(error)}`, { cause: error })
  } finally {
    progress.clear()
  }
}

async function restore(file: string): Promise<void> {
  const config = loadConfig(withDotEnv(process.env))
  const database = sqliteFile(config, `pg_restore --clean --if-exists --dbname="$DATABASE_URL" ${file}`)
  if (!existsSync(file)) throw new InvalidInput([`${file} does not exist`])
  if (resolve(file) === resolve(database)) throw new InvalidInput([`${file} is the database itself; name a copy`])
  if (!statSync(file).isFile()) throw new InvalidInput([`${file} is not a file; name a copy that \`backup\` has written`])
  const expected = checkSqlite(file)
  requireOwnSchema(file)
  const aside = await setAside(database)
  createEmpty(database)
  await fill(database, file)
  checkSqlite(database, expected)
  flush(database)
  print(`Restored ${database} from ${file}: ${contents(expected)}. The database was checked.`)
  if (aside !== undefined) print(`What was there before is kept as ${aside}; delete it when it is not needed any more.`)
  for (const line of aboutSecret(config)) print(line)
}

function afterEach(check: () => void, progress: Progress): OnPages {
  return (done, total) => {
    progress.update(done, total)
    check()
  }
}

async function fill(database: string, file: string): Promise<void> {
  const progress = createProgress('restoring')
  try {
    await interruptible((check) => copyInto(file, database, afterEach(check, progress)))
  } catch (error) {
    if (error instanceof Interrupted) throw error
    throw new Error(`${database} was left as it is: ${file} could not be copied into it: ${messageOf(error)}`, { cause: error })
  } finally {
    progress.clear()
  }
}

/** Keeps a copy of what is about to be replaced. What cannot be read is moved instead, with what lies beside it. */
async function setAside(database: string): Promise<string | undefined> {
  const aside = freeName(`${database}.before-restore-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`)
  const use = useOf(database)
  switch (use) {
    case 'absent':
      return undefined
    case 'in use':
      throw new InvalidInput([`${database} is in use; stop the service, and everything else that has it open, and try again`])
    case 'free':
      if (statSync(database).size === 0) return undefined
      await keepAs(database, aside)
      return aside
    case 'damaged':
      for (const suffix of ['', '-wal', '-shm', '-journal'])
        if (existsSync(database + suffix)) renameSync(database + suffix, aside + suffix)
      return aside
  }
}

/** Two restores in one second must not share a name: the second would replace what the first has kept. */
function freeName(name: string): string {
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}-${n}`
    if (!existsSync(candidate)) return candidate
  }
}

function sqliteFile({ database }: Config, forPostgres: string): string {
  if (database.kind === 'sqlite') return database.file
  throw new InvalidInput([`DATABASE_URL: names a PostgreSQL database, which has its own tools; use: ${forPostgres}`])
}

function aboutSecret({ database, secretKey }: Config): string[] {
  if (secretKey !== undefined)
    return ['SECRET_KEY is not in it: keep the setting as well. With another one every session and mailed link ends.']
  const file = join(dirname(database.kind === 'sqlite' ? database.file : ''), 'secret.key')
  return [`The secret key is not in it: keep ${file} as well, in another place. Without it every session and mailed link ends.`]
}

function megabytes(file: string): string {
  return `${(statSync(file).size / 1_000_000).toFixed(1)} MB`
}
