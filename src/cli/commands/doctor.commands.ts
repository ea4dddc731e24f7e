import type { Command } from 'commander'
import type { Finding, Verdict } from '../../doctor/finding.ts'
import { parseEmail } from '../../domain/values/email.ts'
import { counted } from '../../shared/text.ts'
import { SomeFailed } from '../bulk.ts'
import { addCommand } from '../terminal/input.ts'
import { type Colour, JSON_OPTION, type JsonOption, type Line, print, printJson } from '../terminal/output.ts'
import { InvalidInput } from '../terminal/refusals.ts'

type DoctorOptions = JsonOption & { readonly sendTo?: string }

const COLOURS: Readonly<Record<Verdict, Colour>> = { ok: 'green', warning: 'yellow', error: 'red' }
const VERDICT_WIDTH = 7
const CHECK_WIDTH = 8

export function doctorCommands(program: Command): void {
  addCommand(program, 'doctor', 'check settings, files, database, mail, addresses and clocks, and suggest fixes')
    .option('--send-to <address>', 'deliver a test mail to this address')
    .option(...JSON_OPTION)
    .action(diagnose)
}

async function diagnose({ json, sendTo }: DoctorOptions): Promise<void> {
  if (sendTo !== undefined && parseEmail(sendTo) === undefined) throw new InvalidInput(['--send-to: should be an e-mail address'])
  // Loaded here only: it needs everything that a service may connect to, which takes a quarter of the time of other commands.
  const { examine } = await import('../../doctor/examine.ts')
  const findings = await examine(process.env, { sendTo })
  if (json) printJson(findings, 2)
  else for (const line of report(findings)) print(line)
  if (findings.some(({ verdict }) => verdict === 'error')) throw new SomeFailed()
}

/** A line for each finding, with the advice below it, and a summary. */
export function report(findings: readonly Finding[]): Line[] {
  const lines = findings.flatMap(({ check, verdict, message, advice }): Line[] => [
    [{ colour: COLOURS[verdict], text: verdict.padEnd(VERDICT_WIDTH) }, `  ${check.padEnd(CHECK_WIDTH)}  ${message}`],
    ...(advice === undefined ? [] : [`${' '.repeat(VERDICT_WIDTH + CHECK_WIDTH + 4)}→ ${advice}`]),
  ])
  const count = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length
  const worst: Verdict = count('error') > 0 ? 'error' : count('warning') > 0 ? 'warning' : 'ok'
  const summary = `${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}`
  return [...lines, '', [{ colour: COLOURS[worst], text: summary }]]
}
