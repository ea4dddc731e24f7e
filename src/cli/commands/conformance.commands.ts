import { type Command, Option } from 'commander'
import { SomeFailed } from '../bulk.ts'
import { addCommand, readSecretOption } from '../terminal/input.ts'
import { interruptible } from '../terminal/interruption.ts'
import { JSON_OPTION, type JsonOption, print, printError, printJson } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'

type ConformanceOptions = JsonOption & {
  readonly adminKey?: string
  readonly list?: true
  readonly mailbox?: string
  readonly only?: readonly string[]
  readonly strict?: true
  readonly junit?: true
}

export function conformanceCommands(program: Command): void {
  const description = 'check a running implementation against the specification, with accounts that are removed afterwards'
  const command = addCommand(program, 'conformance', description, { '[url]': 'the base URL of the implementation' })
    .option(
      '--admin-key <key>',
      'an API key of an admin (required); env:NAME reads it from an environment variable, and - from standard input',
    )
    .option('--list', 'print all checks by section, and check nothing')
    .option(
      '--mailbox <place>',
      'where its mails arrive: a folder of .eml files, or a URL that returns them as JSON, such as http://127.0.0.1:8000/dev/mail?token=TOKEN',
    )
    .option('--only <names...>', 'only these areas or checks')
    .option('--strict', 'treat a choice that differs from that of Latchkey as a failure')
    .addOption(new Option(...JSON_OPTION).conflicts('junit'))
    .option('--junit', 'print JUnit XML, for CI systems')
    .action(async (url: string | undefined, { adminKey, ...options }: ConformanceOptions) => {
      if (options.list) return (await load()).describeChecks().forEach(print)
      if (url === undefined) return command.error("error: missing required argument 'url'")
      if (adminKey === undefined) return command.error('error: missing option: --admin-key <key>')
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
        command.error(`error: ${url} should be a URL that begins with http:// or https://`)
      return verify(url, adminKey, options)
    })
}

/** Loaded here only, because no other command needs it. A checkout runs the sources of the package; the build has compiled it. */
async function load(): Promise<typeof import('@latchkey/conformance')> {
  const entry = import.meta.url.endsWith('.ts') ? '../../../packages/conformance/src/index.ts' : '../../conformance/index.js'
  return (await import(entry)) as typeof import('@latchkey/conformance')
}

async function verify(url: string, adminKey: string, options: ConformanceOptions): Promise<void> {
  const { mailbox, only, strict: isStrict, json, junit } = options
  const key = await readSecretOption('--admin-key', adminKey, 'API key of an admin: ')
  const { isConforming, reportJson, reportJunit, reportText, runConformance, Unusable } = await load()
  const progress = createProgress('checking')
  const onLeft = (addresses: readonly string[]) => printError(`these accounts could not be removed: ${addresses.join(', ')}`)
  const run = await interruptible(
    (checkpoint) => runConformance({ url, adminKey: key, mailbox, only, isStrict, checkpoint, onProgress: progress.update, onLeft }),
    'interrupted; the accounts of the checks were removed',
  )
    .catch((error: unknown) => {
      throw error instanceof Unusable ? new InvalidInput(error.problems) : error
    })
    .finally(progress.clear)
  if (json) printJson(reportJson(run), 2)
  else for (const line of junit ? reportJunit(run).split('\n') : reportText(run)) print(line)
  if (!isConforming(run)) throw new SomeFailed()
}
