import { type Command, Option } from 'commander'
import { DRY_RUN_OPTION } from '../../bulk/rehearsal.ts'
import type { ExportCommandOptions, ImportCommandOptions } from '../../import/command-options.ts'
import { SOURCE_NAMES } from '../../import/sources/source-names.ts'
import { JSON_OPTION } from '../../terminal/output.ts'

/** The commands that move accounts in and out. What they need is loaded when they run. */
export function userMovingCommands(parent: Command): void {
  parent
    .command('import')
    .description('import accounts from a file; see docs/migrating.md')
    .argument('<file>', 'the file that the other product has exported')
    .addOption(new Option('--from <source>', 'the product that the file comes from').choices(SOURCE_NAMES).makeOptionMandatory())
    .addOption(
      new Option('--on-conflict <rule>', 'for an address that has an account: skip the user, fail it, or update the account')
        .choices(['skip', 'fail', 'update'])
        .default('skip'),
    )
    .option('--keep-ids', 'keep the ids of the file; the database has to be empty')
    .option('--without-passwords', 'import users whose password hash cannot be taken over without it, for a reset by mail')
    .option('--rejects <file>', 'write rejected users with their reasons to this file, which can be imported again')
    .option('--hash-config <file>', 'the password hash parameters of a Firebase project, as its console shows them')
    .option(...DRY_RUN_OPTION)
    .option(...JSON_OPTION)
    .action(async (file: string, options: ImportCommandOptions) => {
      const { runImport } = await import('../../import/run-import.ts')
      await runImport(file, options)
    })

  parent
    .command('export')
    .description('export all accounts with their API keys as JSON lines, which `user import --from latchkey` reads')
    .argument('[file]', 'the file to write; without it, standard output')
    .option('--with-hashes', 'include the hashes of passwords and API keys')
    .option('--force', 'replace the file if it exists')
    .option(...JSON_OPTION)
    .action(async (file: string | undefined, options: ExportCommandOptions) => {
      const { runExport } = await import('../../import/run-export.ts')
      await runExport(file, options)
    })
}
