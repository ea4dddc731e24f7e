import { randomBytes } from 'node:crypto'
import { fsync, writeFile } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Attachment } from 'postal-mime'
import type { Config } from '../../config/load.ts'
import type { KeptMail, KeptMails } from '../../model/mail.ts'
import { KEPT_ANSWER } from '../../model/mail.ts'
import { codeOf } from '../../shared/errors.ts'
import { createDraft, makeFolder } from '../../shared/files.ts'
import { MailError, type MailMessage, type MailTransport, toSendOptions } from './transport.ts'

/** The mail server of SMTP_URL; without one, files in a folder next to the SQLite file. */
export async function openTransport({ smtpUrl, database }: Config, print: (line: string) => void): Promise<MailTransport> {
  if (smtpUrl === undefined) return createFileTransport(mailFolder(database), print)
  const { createSmtpTransport } = await import('./smtp.transport.ts')
  return createSmtpTransport(smtpUrl)
}

export function mailFolder(database: Config['database']): string {
  return join(database.kind === 'sqlite' ? dirname(database.file) : 'data', 'mail')
}

/** Writes each mail to a file that a mail program can open, and prints its link: for trying the service without a mail server. */
export function createFileTransport(folder: string, print: (line: string) => void): MailTransport {
  let count = 0
  return {
    async send(message) {
      const content = await compose(message)
      count++
      await write(folder, fileName(message, count), content)
      print([`Mail to ${message.to}`, message.purpose, ...(message.link === undefined ? [] : [message.link])].join(': '))
      return KEPT_ANSWER
    },
    check: async () => undefined,
    close: async () => undefined,
  }
}

async function compose(message: MailMessage): Promise<Buffer> {
  // Loaded with the first mail, because not every service sends one.
  const { createTransport } = await import('nodemailer')
  const composer = createTransport({ streamTransport: true, buffer: true })
  // `buffer: true` makes the message a Buffer.
  const { message: content } = (await composer.sendMail(toSendOptions(message))) as { message: Buffer }
  return content
}

async function write(folder: string, name: string, content: Buffer): Promise<void> {
  try {
    makeFolder(folder)
    // The link in the mail gives access to an account, so only the owner of the process may read the file.
    using draft = createDraft(join(folder, name))
    await promisify(writeFile)(draft.descriptor, content)
    // Waiting for the disk here would block every request.
    await promisify(fsync)(draft.descriptor)
    draft.place({ mayReplace: true, isFlushed: false })
  } catch (error) {
    const reason = codeOf(error) || 'unknown error'
    throw new MailError('server', `the mail could not be written as a file: ${reason}`, { cause: error })
  }
}

/** Sorts in the order of sending. */
function fileName({ date, to }: MailMessage, count: number): string {
  const time = date.toISOString().replaceAll(':', '-')
  return `${time}-${String(count).padStart(6, '0')}-${recipientInFileName(to)}-${randomBytes(4).toString('hex')}.eml`
}

/** Characters that are unsafe in a file system are replaced. */
function recipientInFileName(to: string): string {
  return to.replace(/[^A-Za-z0-9@.+_-]/g, '_').slice(0, 100)
}

const MAX_MAILS = 100
const MAX_BYTES = 1_000_000
const FILE_NAME = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)-\d+-(.*)-[0-9a-f]{8}\.eml$/
// A link at the end of a sentence ends before the full stop.
const LINK = /https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?()[\]{}]/g

/** Reads the mails that the file transport has written, newest first. */
export function createKeptMails(folder: string): KeptMails {
  return {
    async list(to) {
      const mails: KeptMail[] = []
      // Spares reading the mails to others. A name has fewer characters than the address, so that the mail decides.
      const part = to && recipientInFileName(to).toLowerCase()
      for (const name of await fileNames(folder)) {
        if (part && FILE_NAME.exec(name)?.[4]?.toLowerCase() !== part) continue
        const mail = await readMail(folder, name)
        if (mail !== undefined && (to === undefined || mail.to.toLowerCase() === to.toLowerCase())) mails.push(mail)
        if (mails.length === MAX_MAILS) break
      }
      return mails
    },
    async page(requested, size) {
      const names = await fileNames(folder)
      const page = Math.min(requested, Math.max(1, Math.ceil(names.length / size)))
      const mails = await Promise.all(names.slice((page - 1) * size, page * size).map((name) => readMail(folder, name)))
      return { mails: mails.filter((mail) => mail !== undefined), page, hasMore: names.length > page * size }
    },
    // Only a name of this form is looked up, so that no other file can be read.
    find: async (id) => (FILE_NAME.test(id) && !/[/\\]/.test(id) ? readMail(folder, id) : undefined),
  }
}

/** The names begin with the time, so that their order is the order of sending. */
async function fileNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter((name) => FILE_NAME.test(name))
    .sort()
    .reverse()
}

/** Undefined if the file was removed in the meantime, is too large or is not a mail. */
async function readMail(folder: string, name: string): Promise<KeptMail | undefined> {
  const raw = await readBounded(join(folder, name))
  const [, hour, minute, second] = FILE_NAME.exec(name) ?? []
  if (raw === undefined) return undefined
  // Loaded with the first request, because only development uses it.
  const { default: PostalMime } = await import('postal-mime')
  const mail = await PostalMime.parse(raw).catch(() => undefined)
  const to = mail?.to?.[0]?.address
  if (mail === undefined || !to) return undefined
  const text = (mail.text ?? '').replaceAll('\r\n', '\n').replace(/\n+$/, '\n')
  return {
    id: name,
    to,
    subject: mail.subject ?? '',
    text,
    html: withImages(mail.html ?? '', mail.attachments),
    links: text.match(LINK) ?? [],
    at: Date.parse(`${hour}:${minute}:${second}`),
  }
}

/** Images of the mail itself become part of its HTML, so that it can be shown without loading anything. */
function withImages(html: string, attachments: readonly Attachment[]): string {
  return attachments.reduce((page, { mimeType, contentId, content }) => {
    if (!/^image\/(?:png|jpeg|gif)$/.test(mimeType) || contentId === undefined || typeof content === 'string') return page
    const bytes = Buffer.from(content instanceof ArrayBuffer ? new Uint8Array(content) : content)
    return page.replaceAll(`cid:${contentId.replace(/^<|>$/g, '')}`, `data:${mimeType};base64,${bytes.toString('base64')}`)
  }, html)
}

async function readBounded(file: string): Promise<Buffer | undefined> {
  const handle = await open(file).catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const { size } = await handle.stat()
    return size > MAX_BYTES ? undefined : await handle.readFile()
  } finally {
    await handle.close()
  }
}
