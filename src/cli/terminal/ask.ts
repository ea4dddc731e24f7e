import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { printable } from '../../shared/text.ts'
import { InvalidInput } from './refusals.ts'

const CANCELLED = 'cancelled; nothing was changed'

/** Whether a person can answer a question. A script, a pipe or a scheduled job cannot. */
export function isInteractive(): boolean {
  return process.stdin.isTTY
}

/** Asks for a secret, without showing it. */
export async function askSecret(question: string): Promise<string> {
  const answer = await ask([question], 'hidden')
  if (answer === undefined) throw new InvalidInput([CANCELLED])
  return answer
}

/** Asks for a new password twice, because a typing error in a hidden password goes unnoticed. */
export async function askNewPassword(): Promise<string> {
  const password = await askSecret('Password: ')
  if (password === '') return password
  if ((await askSecret('Repeat password: ')) !== password) throw new InvalidInput(['the passwords do not match; nothing was changed'])
  return password
}

/** The question goes to standard error, so that standard output holds only the result. Undefined after Ctrl-C or Ctrl-D. */
async function ask(lines: readonly string[], input: 'shown' | 'hidden'): Promise<string | undefined> {
  const question = lines.map(printable).join('\n')
  const isShown = input === 'shown'
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const output = isShown ? process.stderr : silent
  const terminal = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  const cancelled = new AbortController()
  terminal.once('SIGINT', () => cancelled.abort())
  terminal.once('close', () => cancelled.abort())
  if (!isShown) process.stderr.write(question)
  let answer: string | undefined
  try {
    answer = await terminal.question(isShown ? question : '', { signal: cancelled.signal })
  } catch (error) {
    if (!cancelled.signal.aborted) throw error
  } finally {
    terminal.close()
    // Only a visible answer ends with the line break that the person has typed.
    if (!isShown || answer === undefined) process.stderr.write('\n')
  }
  return answer
}

export const YES_OPTION = ['--yes', 'do not ask before deleting'] as const

const SHOWN_AT_MOST = 10

/** Asks before something is changed for good, after a list of what that is. Without a terminal, as in a script, the command proceeds. */
export async function confirm(action: string, labels: readonly string[] = []): Promise<void> {
  if (!isInteractive()) return
  const shown = labels.slice(0, SHOWN_AT_MOST).map((label) => `  ${label}`)
  const more = labels.length > SHOWN_AT_MOST ? [`  and ${labels.length - SHOWN_AT_MOST} more`] : []
  const answer = await ask([...shown, ...more, `${action}? This cannot be undone. [y/N] `], 'shown')
  if (!/^y(?:es)?$/i.test(answer?.trim() ?? '')) throw new InvalidInput([CANCELLED])
}
