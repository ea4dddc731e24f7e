import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Dispatcher } from '../../../src/delivery/dispatcher.ts'
import { parseEml } from '../servers/eml.ts'

export type ReceivedMail = {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly link: string
  readonly code: string
  readonly headers: ReadonlyMap<string, string>
}

/** Each function first lets the dispatcher send all due mails. */
export type Mailbox = {
  /** All mails, in the order in which they were sent. */
  messages(): Promise<ReceivedMail[]>
  /** The code in the newest mail to an address; throws if there is none. */
  codeFor(email: string): Promise<string>
  linkFor(email: string): Promise<string>
  countFor(email: string): Promise<number>
}

export function createMailbox(dispatcher: Dispatcher, folder: string): Mailbox {
  async function messages(): Promise<ReceivedMail[]> {
    await dispatcher.drain()
    if (!existsSync(folder)) return []
    const names = readdirSync(folder).filter((name) => name.endsWith('.eml'))
    return names.sort().map((name) => readMail(readFileSync(join(folder, name), 'utf8')))
  }

  async function messagesFor(email: string): Promise<ReceivedMail[]> {
    return (await messages()).filter(({ to }) => to.toLowerCase() === email.toLowerCase())
  }

  async function newestFor(email: string): Promise<ReceivedMail> {
    const newest = (await messagesFor(email)).findLast(({ code }) => code !== '')
    if (newest === undefined) throw new Error(`no mail with a link was sent to ${email}`)
    return newest
  }

  return {
    messages,
    codeFor: async (email) => (await newestFor(email)).code,
    linkFor: async (email) => (await newestFor(email)).link,
    countFor: async (email) => (await messagesFor(email)).length,
  }
}

export function readMail(raw: string): ReceivedMail {
  const { headers, text, html } = parseEml(raw)
  // A notice has neither.
  const link = /^https?:\/\/\S+$/m.exec(text)?.[0] ?? ''
  const code = link === '' ? '' : (new URL(link).searchParams.get('code') ?? '')
  return { to: headers.get('to') ?? '', subject: headers.get('subject') ?? '', text, html, link, code, headers }
}
