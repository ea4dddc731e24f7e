import { randomBytes } from 'node:crypto'
import { fsync, writeFile } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createDraft } from '../../shared/draft.ts'
import { makeFolder } from '../../shared/make-folder.ts'
import { codeOf } from '../../shared/system-errors.ts'
import { MailError, type MailMessage, type MailTransport, toSendOptions } from './transport.ts'

/** Writes each mail to a file that a mail program can open, and prints its link: for trying the service without a mail server. */
export function createFileTransport(folder: string, print: (line: string) => void): MailTransport {
  let count = 0
  return {
    async send(message) {
      const content = await compose(message)
      count++
      await write(folder, fileName(message, count), content)
      print([`Mail to ${message.to}`, message.purpose, ...(message.link === undefined ? [] : [message.link])].join(': '))
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
export function recipientInFileName(to: string): string {
  return to.replace(/[^A-Za-z0-9@.+_-]/g, '_').slice(0, 100)
}
