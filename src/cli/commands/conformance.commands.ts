import { type Command, Option } from 'commander'
import { SomeFailed } from '../bulk/bulk.ts'
import { readSecretOption } from '../terminal/input.ts'
import { interruptible } from '../terminal/interruption.ts'
import { JSON_OPTION, print, printError, printJson } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { requireOptions } from '../terminal/required-options.ts'

type ConformanceOptions = {
  readonly adminKey: string
  readonly mailbox?: string
  readonly only?: readonly string[]
  readonly strict?: true
  readonly json?: true
  readonly junit?: true
}

export function conformanceCommands(program: Command): void {
  const command = program
    .command('conformance')
    .description('check a running implementation against the specification, with accounts that are removed afterwards')
    .argument('<url>', 'the base URL of the implementation')
  requireOptions(command, {
    '--admin-key <key>': 'an API key of an admin; env:NAME reads it from an environment variable, and - from standard input',
  })
    .option(
      '--mailbox <place>',
      'where its mails arrive: a folder of .eml files, or a URL that returns them as JSON, such as http://127.0.0.1:8000/dev/mail?token=TOKEN',
    )
    .option('--only <names...>', 'only these areas or checks')
    .option('--strict', 'treat a choice that differs from that of Latchkey as a failure')
    .addOption(new Option(...JSON_OPTION).conflicts('junit'))
    .option('--junit', 'print JUnit XML, for CI systems')
    .action((url: string, options: ConformanceOptions) => {
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
        command.error(`error: ${url} should be a URL that begins with http:// or https://`)
      return verify(url, options)
    })
}

async function verify(url: string, { adminKey, mailbox, only, strict, json, junit }: ConformanceOptions): Promise<void> {
  const key = await readSecretOption('--admin-key', adminKey, 'API key of an admin: ')
  // Loaded here only, because no other command needs them.
  const [{ runConformance }, { isConforming, reportJson, reportText }, { reportJunit }] = await Promise.all([
    import('../conformance/run.ts'),
    import('../conformance/report.ts'),
    import('../conformance/junit.ts'),
  ])
  const progress = createProgress('checking')
  const run = await interruptible(
    (checkpoint) =>
      runConformance({ url, adminKey: key, mailbox, only, isStrict: strict, checkpoint, onProgress: progress.update, onLeft: reportLeft }),
    'interrupted; the accounts of the checks were removed',
  ).finally(progress.clear)
  if (json) printJson(reportJson(run), 2)
  else for (const line of junit ? reportJunit(run).split('\n') : reportText(run)) print(line)
  if (!isConforming(run)) throw new SomeFailed()
}

function reportLeft(addresses: readonly string[]): void {
  printError(`these accounts could not be removed: ${addresses.join(', ')}`)
}
