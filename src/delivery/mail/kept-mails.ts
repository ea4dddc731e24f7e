import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Attachment } from 'postal-mime'
import type { KeptMail, KeptMails } from '../../model/mail.ts'
import { recipientInFileName } from './file.transport.ts'

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
      for (const name of (await fileNames(folder)).filter((candidate) => to === undefined || isFor(candidate, to))) {
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

/** Spares reading the mails to others. The name has fewer characters than the address, so that the mail decides. */
function isFor(name: string, to: string): boolean {
  return FILE_NAME.exec(name)?.[4]?.toLowerCase() === recipientInFileName(to).toLowerCase()
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
