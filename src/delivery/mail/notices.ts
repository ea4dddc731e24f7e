import { type Claimed, type ClaimedMail, NOTICE_KINDS, type NoticeKind } from '../../model/mail.ts'
import type { MailTexts } from './texts/en.ts'

export type ClaimedNotice = Claimed<NoticeKind>

const MAX_ITEMS = 20

export function isNotice(mail: ClaimedMail): mail is ClaimedNotice {
  return NOTICE_KINDS.some((kind) => kind === mail.kind)
}

// Anyone can register someone else's address, or name a key of an account that they broke into. A name that looks like a link or a message
// is left out of mails.
const UNSAFE_NAME = /[/\\:@]|\.\S|.{41}/u

export function isSafeName(name: string): boolean {
  return !UNSAFE_NAME.test(name)
}

/** What a notice names. Each line of the detail has the prefix of a key and its name. Old keys have no known prefix. */
export function noticeItems({ detail = '' }: ClaimedNotice, texts: MailTexts): string[] {
  if (detail === '') return []
  const names = [...new Set(detail.split('\n').map((line) => keyItem(line, texts)))]
  const others = names.length - MAX_ITEMS
  return others > 0 ? [...names.slice(0, MAX_ITEMS), texts.moreKeys(others)] : names
}

function keyItem(line: string, { keyWithPrefix, keyWithoutPrefix }: MailTexts): string {
  const [prefix = '', ...words] = line.split(' ')
  const name = words.join(' ')
  if (prefix === '') return isSafeName(name) ? name : keyWithoutPrefix
  return isSafeName(name) ? `${name} (${prefix}…)` : keyWithPrefix(prefix)
}
