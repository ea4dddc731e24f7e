import { existsSync, renameSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../../config/load.ts'
import { secretKeyFile } from '../../process/secrets.ts'
import { formerSecretsFile } from '../../security/secret-key.ts'
import { explainSystemError } from '../../shared/errors.ts'
import { isTaken } from '../../shared/files.ts'
import {
  checkSqlite,
  copyInto,
  copySqlite,
  createEmpty,
  flush,
  type OnPages,
  requireOwnSchema,
  useOf,
} from '../../storage/maintenance/sqlite-copy.ts'
import { addCommand, requirePlaceFor } from '../terminal/input.ts'
import { Interrupted, interruptible } from '../terminal/interruption.ts'
import { contents, JSON_OPTION, type JsonOption, megabytes, printResult } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { readConfig } from '../with-services.ts'

export function backupCommands(program: Command): void {
  addCommand(program, 'backup', 'write a verified copy of the SQLite database, also while the service runs', {
    '<file>': 'the file to write',
  })
    .option('--force', 'replace the file if it exists')
    .option(...JSON_OPTION)
    .action(backUp)

  addCommand(program, 'restore', 'replace the SQLite database with a copy that `backup` has written; stop the service first', {
    '<file>': 'the copy',
  })
    .option(...JSON_OPTION)
    .action(restore)
}

async function backUp(file: string, options: JsonOption & { readonly force?: true }): Promise<void> {
  const mayReplace = options.force === true
  const config = readConfig()
  const database = sqliteFile(config, `pg_dump --format=custom --file=${file} "$DATABASE_URL"`)
  if (!existsSync(database))
    throw new InvalidInput([
      `DATABASE_URL: there is no database at ${database}, or this user may not read its folder; nothing was backed up`,
    ])
  if (resolve(file) === resolve(database)) throw new InvalidInput([`${file} is the database itself; choose another file`])
  requirePlaceFor(file, { mayReplace })
  const rows = await copying('copying', `${file} was not written`, (onPages) =>
    copySqlite(database, file, { mayReplace, isChecked: true, onPages }),
  )
  const bytes = statSync(file).size
  printResult(
    options,
    { database, file, bytes, rows },
    `Backed up ${database} to ${file}, ${megabytes(bytes)}: ${contents(rows)}. The copy was verified.`,
    aboutSecret(config),
  )
}

/** Copies with a bar and stops at an interruption. The message of an error begins with `failure`. */
async function copying<Result>(label: string, failure: string, copy: (onPages: OnPages) => Promise<Result>): Promise<Result> {
  using progress = createProgress(label)
  try {
    return await interruptible((check) =>
      copy((done, total) => {
        progress.update(done, total)
        check()
      }),
    )
  } catch (error) {
    if (error instanceof Interrupted) throw error
    throw new Error(`${failure}: ${explainSystemError(error)}`, { cause: error })
  }
}

async function restore(file: string, options: JsonOption): Promise<void> {
  const config = readConfig()
  const database = sqliteFile(config, `pg_restore --clean --if-exists --dbname="$DATABASE_URL" ${file}`)
  if (!existsSync(file)) throw new InvalidInput([`${file} does not exist`])
  if (resolve(file) === resolve(database)) throw new InvalidInput([`${file} is the database itself; choose a copy`])
  if (!statSync(file).isFile()) throw new InvalidInput([`${file} is not a file; choose a copy that \`backup\` has written`])
  const rows = checkSqlite(file)
  requireOwnSchema(file)
  const aside = await setAside(database)
  createEmpty(database)
  const failure = `${database} was not changed: ${file} could not be copied into it`
  await copying('restoring', failure, (onPages) => copyInto(file, database, onPages))
  checkSqlite(database, rows)
  flush(database)
  printResult(
    options,
    { database, file, kept_as: aside ?? null, rows },
    `Restored ${database} from ${file}: ${contents(rows)}. The database was verified.`,
    ...(aside === undefined ? [] : [`The previous database is kept as ${aside}; delete it when you no longer need it.`]),
    aboutSecret(config),
  )
}

/** Keeps a copy of the database that is about to be replaced. A damaged one is moved instead, with the files beside it. */
async function setAside(database: string): Promise<string | undefined> {
  const aside = freeName(`${database}.before-restore-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`)
  const failure = `${database} was not changed: its content could not be kept as ${aside}`
  switch (useOf(database)) {
    case 'absent':
      return undefined
    case 'in use':
      throw new InvalidInput([`${database} is in use; stop the service and every other program that has it open, and try again`])
    case 'free':
      if (statSync(database).size === 0) return undefined
      await copying('keeping a copy of the current database', failure, (onPages) =>
        copySqlite(database, aside, { mayReplace: false, isChecked: false, onPages }),
      )
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
  const file = secretKeyFile(database) ?? ''
  const former = formerSecretsFile(file)
  const files = existsSync(former) ? `${file} and ${former}` : file
  return `The copy does not contain the secret key: keep ${files} too, in another place. Without it, every session and mailed link ends.`
}
