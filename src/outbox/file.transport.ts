import { randomBytes } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../shared/make-folder.ts'
import { MailError, type MailMessage, type MailTransport, toSendOptions } from './transport.ts'

/** Keeps each mail as a file that a mail program opens, and tells its link: for trying the service out without a mail server. */
export function createFileTransport(folder: string, print: (line: string) => void): MailTransport {
  let count = 0
  return {
    async send(message) {
      const content = await compose(message)
      count++
      await write(folder, fileName(message, count), content)
      print(`Mail to ${message.to}: ${message.purpose}: ${message.link}`)
    },
    check: async () => undefined,
    close: async () => undefined,
  }
}

async function compose(message: MailMessage): Promise<Buffer> {
  // Loaded with the first mail: a service that sends none has no need of it.
  const { createTransport } = await import('nodemailer')
  const composer = createTransport({ streamTransport: true, buffer: true })
  // The stream transport is asked for a buffer above.
  const { message: content } = (await composer.sendMail(toSendOptions(message))) as { message: Buffer }
  return content
}

async function write(folder: string, name: string, content: Buffer): Promise<void> {
  const draft = join(folder, `.${name}.new`)
  try {
    makeFolder(folder)
    // The link in it opens an account: it is for its owner's eyes alone.
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, join(folder, name))
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault'
    throw new MailError('server', `the mail could not be written as a file: ${code}`, { cause: error })
  }
}

/** In the order of sending; a recipient keeps only characters that are harmless in every file system. */
function fileName({ date, to }: MailMessage, count: number): string {
  const time = date.toISOString().replaceAll(':', '-')
  const recipient = to.replace(/[^A-Za-z0-9@.+_-]/g, '_').slice(0, 100)
  return `${time}-${String(count).padStart(6, '0')}-${recipient}-${randomBytes(4).toString('hex')}.eml`
}
