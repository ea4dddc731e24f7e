import { createHmac } from 'node:crypto'
import { TEST_SECRET } from '../app/start-app.ts'

type Forgery = { readonly header?: object; readonly payload: object; readonly secret?: string; readonly hash?: string }

/** Builds a token that the service itself never issues. */
export function forge({ header = { alg: 'HS256', typ: 'JWT' }, payload, secret = TEST_SECRET, hash = 'sha256' }: Forgery): string {
  const signed = `${encode(header)}.${encode(payload)}`
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`
}

/** A token without a signature. */
export function unsigned(payload: object, alg = 'none'): string {
  return `${encode({ alg, typ: 'JWT' })}.${encode(payload)}.`
}

export function payloadOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
