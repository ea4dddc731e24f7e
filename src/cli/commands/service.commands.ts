import type { Command } from 'commander'
import { withDotEnv } from '../../config/dotenv.ts'
import { loadConfig } from '../../config/load.ts'
import { migrateDatabase } from '../../process/open-database.ts'
import { print } from '../terminal/output.ts'

export function serviceCommands(program: Command): void {
  program
    .command('serve')
    .description('start the service')
    .action(async () => {
      // Loaded here alone: no other command needs the HTTP side, which takes longer to load than most of them to run.
      const { startService } = await import('../../process/start.ts')
      await startService(loadConfig(withDotEnv(process.env)))
    })

  program
    .command('migrate')
    .description('bring the database to the state that this version needs, as every start does')
    .action(async () => {
      const applied = await migrateDatabase(loadConfig(withDotEnv(process.env)))
      for (const { name } of applied) print(`applied ${name}`)
      print('The database is up to date.')
    })
}
