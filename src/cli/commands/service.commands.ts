import type { Command } from 'commander'
import { withDotEnv } from '../../config/dotenv.ts'
import { loadConfig } from '../../config/load.ts'
import { isStartedByNpm } from '../../process/lifecycle/parent.ts'
import { migrateDatabase } from '../../process/open-database.ts'
import { JSON_OPTION, print, printJson } from '../terminal/output.ts'

export function serviceCommands(program: Command): void {
  program
    .command('serve')
    .description('start the service')
    .action(async () => {
      // Loaded here only: the other commands need no HTTP, which takes longer to load than most of them take to run.
      const { startService } = await import('../../process/start.ts')
      await startService(loadConfig(withDotEnv(process.env)), { isByNpm: isStartedByNpm(process.env) })
    })

  program
    .command('migrate')
    .description('migrate the database to this version, as every start does')
    .option(...JSON_OPTION)
    .action(async ({ json }: { readonly json?: true }) => {
      let newer: readonly string[] = []
      const migrations = await migrateDatabase(loadConfig(withDotEnv(process.env)), (names) => {
        newer = names
      })
      const applied = migrations.map(({ name }) => name)
      if (json) return printJson({ applied, ...(newer.length > 0 && { newer }) })
      for (const name of applied) print(`applied ${name}`)
      print(
        newer.length === 0
          ? 'The database is up to date.'
          : `A newer version has applied ${newer.join(', ')}. This version can use the database.`,
      )
    })
}
