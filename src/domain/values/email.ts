const MAX_LENGTH = 254
const MAX_LOCAL_LENGTH = 64
// A dot-atom of ASCII characters: no quoted form, no comment, so that one string is always one recipient.
const LOCAL_PART = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const DOMAIN_LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/

/** Returns the address as it is stored, trimmed and with its domain in lower case; undefined if it is not a valid address. */
export function parseEmail(text: string): string | undefined {
  const address = text.trim()
  if (address.length > MAX_LENGTH) return undefined
  const at = address.lastIndexOf('@')
  const localPart = address.slice(0, at)
  const domain = address.slice(at + 1)
  if (at < 1 || localPart.length > MAX_LOCAL_LENGTH || !LOCAL_PART.test(localPart)) return undefined
  const labels = domain.split('.')
  if (labels.length < 2 || !labels.every((label) => DOMAIN_LABEL.test(label))) return undefined
  return `${localPart}@${domain.toLowerCase()}`
}

/** The form in which addresses are compared and looked up: addresses that differ only in case are the same. */
export function emailKey(email: string): string {
  return email.toLowerCase()
}
