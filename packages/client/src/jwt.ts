/** A part of a JWT as an object. Throws if it is anything else. */
export function parsePart(part: string | undefined): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(part ?? '')))
  if (typeof value !== 'object' || value === null) throw new SyntaxError('not an object')
  return value as Readonly<Record<string, unknown>>
}

export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0))
}
