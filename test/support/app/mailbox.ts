import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import PostalMime, { decodeWords } from 'postal-mime'
import type { Dispatcher } from '../../../src/delivery/dispatcher.ts'

export type ReceivedMail = Awaited<ReturnType<typeof readMail>>
export type Mailbox = ReturnType<typeof createMailbox>

/** The mails in a folder. Each function first lets the dispatcher send all due mails. */
export function createMailbox(dispatcher: Dispatcher, folder: string) {
  /** All mails, in the order in which they were sent. */
  async function messages(): Promise<ReceivedMail[]> {
    await dispatcher.drain()
    if (!existsSync(folder)) return []
    const names = readdirSync(folder).filter((name) => name.endsWith('.eml'))
    return Promise.all(names.sort().map((name) => readMail(readFileSync(join(folder, name)))))
  }

  async function messagesFor(email: string): Promise<ReceivedMail[]> {
    return (await messages()).filter(({ to }) => to.toLowerCase() === email.toLowerCase())
  }

  async function newestFor(email: string): Promise<ReceivedMail> {
    return (await messagesFor(email)).findLast(({ code }) => code !== '') ?? assert.fail(`no mail with a link was sent to ${email}`)
  }

  return {
    messages,
    /** The code in the newest mail to an address; throws if there is none. */
    codeFor: async (email: string) => (await newestFor(email)).code,
    linkFor: async (email: string) => (await newestFor(email)).link,
    countFor: async (email: string) => (await messagesFor(email)).length,
  }
}

export async function readMail(raw: Buffer) {
  const mail = await PostalMime.parse(raw)
  assert.ok(mail.text !== undefined && mail.html !== undefined, 'a mail has both parts')
  // The line break before the boundary belongs to it.
  const [text, html] = [mail.text, mail.html].map((part) => part.replace(/\n$/, '')) as [string, string]
  const headers: ReadonlyMap<string, string> = new Map(mail.headers.map(({ key, value }) => [key, decodeWords(value)]))
  // A notice has neither.
  const link = /^https?:\/\/\S+$/m.exec(text)?.[0] ?? ''
  const code = link === '' ? '' : (new URL(link).searchParams.get('code') ?? '')
  return { to: headers.get('to') ?? '', subject: headers.get('subject') ?? '', text, html, link, code, headers }
}
