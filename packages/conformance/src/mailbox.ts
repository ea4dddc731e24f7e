import { existsSync, readdirSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject, Mismatch } from './expect.ts'
import { isTokenShaped } from './tokens.ts'
import { Unusable } from './unusable.ts'

/** The texts of the mails to an address, in no particular order. */
type Source = (address: string) => Promise<readonly string[]>

export type Mailbox = {
  /** Waits for a mail with a code that was not returned before. */
  nextCode(address: string): Promise<string>
  /** The codes in all mails to an address so far. */
  codes(address: string): Promise<readonly string[]>
}

const DEADLINE_MS = 60_000
const POLL_MS = 40
const CODE = /[?&]code=([^&\s"'<>)\]]+)/g
const JWT = /\b[\w-]{8,}\.[\w-]{8,}\.[\w-]{16,}/g

/** Opens a folder of .eml files, or the URL of a service that returns mails as JSON. */
export async function openMailbox(given: string, checkpoint: () => void): Promise<Mailbox> {
  return createMailbox(/^https?:\/\//.test(given) ? await openUrl(given) : openFolder(given), checkpoint)
}

function createMailbox(source: Source, checkpoint: () => void): Mailbox {
  const returned = new Set<string>()
  let isDead = false

  async function codes(address: string): Promise<readonly string[]> {
    return (await source(address)).flatMap(codesIn)
  }

  return {
    codes,
    async nextCode(address) {
      const deadline = performance.now() + (isDead ? 0 : DEADLINE_MS)
      for (;;) {
        checkpoint()
        const found = (await codes(address)).find((code) => !returned.has(code))
        if (found !== undefined) {
          returned.add(found)
          return found
        }
        if (performance.now() > deadline) break
        await sleep(POLL_MS)
      }
      // Without this, every other check would wait as long.
      isDead = returned.size === 0
      throw new Mismatch(`a mail with a code to ${address} within ${DEADLINE_MS / 1000} s`, 'none')
    },
  }
}

/** The codes of links in a mail, or else the tokens in it. */
function codesIn(mail: string): string[] {
  const linked = [...mail.matchAll(CODE)].map(([, code = '']) => decodeURIComponent(code)).filter(isTokenShaped)
  return [...new Set(linked.length > 0 ? linked : (mail.match(JWT) ?? []))]
}

async function openUrl(given: string): Promise<Source> {
  const base = new URL(given)
  if (base.pathname === '/') base.pathname = '/dev/mail'

  async function read(address: string): Promise<readonly string[]> {
    const url = new URL(base)
    url.searchParams.set('to', address)
    const response = await fetch(url, { signal: AbortSignal.timeout(DEADLINE_MS) })
    const mails: unknown = response.ok ? await response.json() : undefined
    if (!Array.isArray(mails)) throw new Error(`it answered ${response.status}, and not with a list of mails`)
    return mails.filter(isObject).map(({ text, links }) => [String(text), ...(Array.isArray(links) ? links : [])].join('\n'))
  }

  try {
    await read('nobody@example.com')
  } catch (error) {
    const reason = error instanceof TypeError ? 'it cannot be reached' : error instanceof Error ? error.message : String(error)
    // The query may contain a token.
    throw new Unusable([`--mailbox: ${base.origin}${base.pathname}: ${reason}`])
  }
  return read
}

function openFolder(folder: string): Source {
  // The service creates the folder with its first mail.
  if (!existsSync(folder) && !existsSync(dirname(folder))) throw new Unusable([`--mailbox: ${folder}: there is no such folder`])
  const read = new Set(existsSync(folder) ? readdirSync(folder) : [])
  const byAddress = new Map<string, string[]>()

  async function readNew(): Promise<void> {
    const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.eml') && !read.has(name))
    for (const name of names) {
      read.add(name)
      const { to, text } = await readEml(join(folder, name))
      // A file without a code may not have been written to its end.
      if (codesIn(text).length === 0) read.delete(name)
      else for (const address of to) byAddress.set(address, [...(byAddress.get(address) ?? []), text])
    }
  }

  let reading: Promise<void> | undefined
  return async (address) => {
    reading ??= readNew().finally(() => {
      reading = undefined
    })
    await reading
    return byAddress.get(address.toLowerCase()) ?? []
  }
}

async function readEml(file: string): Promise<{ to: readonly string[]; text: string }> {
  const { default: PostalMime } = await import('postal-mime')
  const mail = await PostalMime.parse(await readFile(file))
  return { to: (mail.to ?? []).map(({ address }) => (address ?? '').toLowerCase()), text: `${mail.text ?? ''}\n${mail.html ?? ''}` }
}
