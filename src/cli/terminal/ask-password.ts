import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { InvalidInput } from './refusals.ts'

/** Asks a person at a terminal, who does not see what they type. The question goes to standard error: the answer of a command stays clean. */
export async function askPassword(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true, historySize: 0 })
  const cancelled = new AbortController()
  terminal.once('SIGINT', () => cancelled.abort())
  terminal.once('close', () => cancelled.abort())
  process.stderr.write(question)
  try {
    return await terminal.question('', { signal: cancelled.signal })
  } catch {
    throw new InvalidInput(['no password was given; nothing was changed'])
  } finally {
    terminal.close()
    process.stderr.write('\n')
  }
}
