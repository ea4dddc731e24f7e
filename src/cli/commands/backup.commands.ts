import { existsSync, renameSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../../config/load.ts'
import { secretKeyFile } from '../../process/secrets.ts'
import { formerSecretsFile } from '../../security/secret-key.ts'
import { explainSystemError } from '../../shared/errors.ts'
import { isTaken } from '../../shared/files.ts'
import {
  type Counts,
  checkSqlite,
  copyInto,
  copySqlite,
  createEmpty,
  flush,
  type OnPages,
  requireOwnSchema,
  useOf,
} from '../../storage/maintenance/sqlite-copy.ts'
import { Interrupted, interruptible } from '../terminal/interruption.ts'
import { contents, JSON_OPTION, print, printJson } from '../terminal/output.ts'
import { createProgress, type Progress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { readConfig } from '../with-services.ts'

export function backupCommands(program: Command): void {
  program
    .command('backup')
    .description('write a verified copy of the SQLite database, also while the service runs')
    .argument('<file>', 'the file to write')
    .option('--force', 'replace the file if it exists')
    .option(...JSON_OPTION)
    .action(backUp)

  program
    .command('restore')
    .description('replace the SQLite database with a copy that `backup` has written; stop the service first')
    .argument('<file>', 'the copy')
    .option(...JSON_OPTION)
    .action(restore)
}

async function backUp(file: string, { force, json }: { readonly force?: true; readonly json?: true }): Promise<void> {
  const config = readConfig()
  const database = sqliteFile(config, `pg_dump --format=custom --file=${file} "$DATABASE_URL"`)
  if (!existsSync(database))
    throw new InvalidInput([
      `DATABASE_URL: there is no database at ${database}, or this user may not read its folder; nothing was backed up`,
    ])
  if (resolve(file) === resolve(database)) throw new InvalidInput([`${file} is the database itself; choose another file`])
  if (isTaken(file) && !force) throw new InvalidInput([`${file} already exists; choose another file, or replace it with --force`])
  // A missing folder may be a disk that is not mounted, so it is not created.
  if (!existsSync(dirname(file))) throw new InvalidInput([`${dirname(file)} does not exist; create it or mount it first`])
  const counts = await copyTo(database, file, force === true)
  if (json) return printJson({ database, file, bytes: statSync(file).size, rows: counts })
  print(`Backed up ${database} to ${file}, ${megabytes(file)}: ${contents(counts)}. The copy was verified.`)
  print(aboutSecret(config))
}

async function copyTo(database: string, file: string, mayReplace: boolean): Promise<Counts> {
  const progress = createProgress('copying')
  try {
    return await interruptible((check) => copySqlite(database, file, { mayReplace, isChecked: true, onPages: afterEach(check, progress) }))
  } catch (error) {
    if (error instanceof Interrupted) throw error
    throw new Error(`${file} was not written: ${explainSystemError(error)}`, { cause: error })
  } finally {
    progress.clear()
  }
}

async function keepAs(database: string, aside: string): Promise<void> {
  const progress = createProgress('keeping a copy of the current database')
  try {
    await interruptible((check) =>
      copySqlite(database, aside, { mayReplace: false, isChecked: false, onPages: afterEach(check, progress) }),
    )
  } catch (error) {
    if (error instanceof Interrupted) throw error
    throw new Error(`${database} was not changed: its content could not be kept as ${aside}: ${explainSystemError(error)}`, {
      cause: error,
    })
  } finally {
    progress.clear()
  }
}

async function restore(file: string, { json }: { readonly json?: true }): Promise<void> {
  const config = readConfig()
  const database = sqliteFile(config, `pg_restore --clean --if-exists --dbname="$DATABASE_URL" ${file}`)
  if (!existsSync(file)) throw new InvalidInput([`${file} does not exist`])
  if (resolve(file) === resolve(database)) throw new InvalidInput([`${file} is the database itself; choose a copy`])
  if (!statSync(file).isFile()) throw new InvalidInput([`${file} is not a file; choose a copy that \`backup\` has written`])
  const expected = checkSqlite(file)
  requireOwnSchema(file)
  const aside = await setAside(database)
  createEmpty(database)
  await fill(database, file)
  checkSqlite(database, expected)
  flush(database)
  if (json) return printJson({ database, file, kept_as: aside ?? null, rows: expected })
  print(`Restored ${database} from ${file}: ${contents(expected)}. The database was verified.`)
  if (aside !== undefined) print(`The previous database is kept as ${aside}; delete it when you no longer need it.`)
  print(aboutSecret(config))
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
    throw new Error(`${database} was not changed: ${file} could not be copied into it: ${explainSystemError(error)}`, { cause: error })
  } finally {
    progress.clear()
  }
}

/** Keeps a copy of the database that is about to be replaced. A damaged one is moved instead, with the files beside it. */
async function setAside(database: string): Promise<string | undefined> {
  const aside = freeName(`${database}.before-restore-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`)
  const use = useOf(database)
  switch (use) {
    case 'absent':
      return undefined
    case 'in use':
      throw new InvalidInput([`${database} is in use; stop the service and every other program that has it open, and try again`])
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

/** Two restores in one second must not share a name: the second would replace the copy of the first. */
function freeName(name: string): string {
  for (let n = 1; ; n++) {
    const candidate = n === 1 ? name : `${name}-${n}`
    if (!isTaken(candidate)) return candidate
  }
}

function sqliteFile({ database }: Config, forPostgres: string): string {
  if (database.kind === 'sqlite') return database.file
  throw new InvalidInput([`DATABASE_URL: names a PostgreSQL database, which has its own tools; run: ${forPostgres}`])
}

function aboutSecret({ database, secretKey }: Config): string {
  if (secretKey !== undefined)
    return 'The copy does not contain SECRET_KEY: keep the setting too. With another one, every session and mailed link ends.'
  const files = keptSecretFiles(secretKeyFile(database) ?? '')
  return `The copy does not contain the secret key: keep ${files} too, in another place. Without it, every session and mailed link ends.`
}

function keptSecretFiles(file: string): string {
  const former = formerSecretsFile(file)
  return existsSync(former) ? `${file} and ${former}` : file
}

function megabytes(file: string): string {
  return `${(statSync(file).size / 1_000_000).toFixed(1)} MB`
}
