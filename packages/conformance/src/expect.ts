import { isDeepStrictEqual } from 'node:util'
import type { Answer } from './client.ts'

/** What a check expected, what came instead, and the answer that shows it. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch'
  readonly expected: string
  readonly received: string
  readonly answer: Answer | undefined

  constructor(expected: string, received: string, answer?: Answer) {
    super(`expected ${expected}, received ${received}`)
    this.expected = expected
    this.received = received
    this.answer = answer
  }
}

export type Fields = Readonly<Record<string, 'string' | 'integer' | 'boolean' | 'strings'>>
export type JsonObject = Readonly<Record<string, unknown>>

export const BASIC_VIEW: Fields = { email: 'string', first_name: 'string', last_name: 'string' }
export const FULL_VIEW: Fields = { id: 'integer', ...BASIC_VIEW, role: 'string', banned: 'boolean', verified: 'boolean' }
export const KEY_VIEW: Fields = { id: 'string', name: 'string', created_at: 'string', is_active: 'boolean', scopes: 'strings' }

export function expectStatus(answer: Answer, ...allowed: readonly number[]): void {
  if (!allowed.includes(answer.status)) throw new Mismatch(`status ${allowed.join(' or ')}`, `status ${answer.status}`, answer)
}

export function expectEqual(what: string, actual: unknown, expected: unknown, answer?: Answer): void {
  if (!isDeepStrictEqual(actual, expected)) throw new Mismatch(`${what}: ${shown(expected)}`, shown(actual), answer)
}

export function expectThat(holds: boolean, expected: string, received: string, answer?: Answer): void {
  if (!holds) throw new Mismatch(expected, received, answer)
}

const JSON_TYPE = 'application/json'

/** Asserts the type of the body, without regard to its parameters. A more specific type of JSON is JSON, too. */
export function expectType(answer: Answer, type: string): void {
  const received = answer.headers.get('content-type') ?? 'none'
  const essence = received.split(';')[0]?.trim().toLowerCase() ?? ''
  if (type === JSON_TYPE && /^application\/[\w.-]+\+json$/.test(essence)) return
  if (essence !== type) throw new Mismatch(`Content-Type ${type}`, `Content-Type ${received}`, answer)
}

export function jsonObject(answer: Answer, status: number): JsonObject {
  expectStatus(answer, status)
  expectType(answer, JSON_TYPE)
  if (!isObject(answer.json)) throw new Mismatch('a JSON object', 'another body', answer)
  return answer.json
}

export function jsonArray(answer: Answer, status: number): readonly JsonObject[] {
  expectStatus(answer, status)
  expectType(answer, JSON_TYPE)
  if (!Array.isArray(answer.json) || !answer.json.every(isObject)) throw new Mismatch('a JSON array of objects', 'another body', answer)
  return answer.json
}

/** Asserts the fields and their types. Further fields are allowed. */
export function expectFields(body: unknown, fields: Fields, answer?: Answer): JsonObject {
  if (!isObject(body)) throw new Mismatch('a JSON object', shown(body), answer)
  for (const [name, type] of Object.entries(fields)) {
    const value = body[name]
    if (!hasType(value, type))
      throw new Mismatch(`${name}: ${type === 'strings' ? 'array of strings' : type}`, `${name}: ${shown(value)}`, answer)
  }
  return body
}

/** Asserts an error in the format of the specification, with an exact text where it has one. */
export function expectRefusal(answer: Answer, statuses: number | readonly number[], detail?: string): void {
  expectStatus(answer, ...(typeof statuses === 'number' ? [statuses] : statuses))
  if (answer.status === 422) return void expectInvalid(answer)
  expectType(answer, JSON_TYPE)
  const received = isObject(answer.json) ? answer.json['detail'] : undefined
  if (typeof received !== 'string') throw new Mismatch('a JSON body with a text in detail', shown(answer.json), answer)
  if (detail !== undefined) expectEqual('detail', received, detail, answer)
}

/** Asserts a validation error: 422 with an array of loc, msg and type. */
export function expectInvalid(answer: Answer): void {
  expectStatus(answer, 422)
  expectType(answer, JSON_TYPE)
  const detail = isObject(answer.json) ? answer.json['detail'] : undefined
  if (!Array.isArray(detail) || detail.length === 0) throw new Mismatch('an array in detail', shown(answer.json), answer)
  for (const item of detail) {
    expectFields(item, { msg: 'string', type: 'string' }, answer)
    const loc = isObject(item) ? item['loc'] : undefined
    const isPath = Array.isArray(loc) && loc.every((step) => typeof step === 'string' || Number.isInteger(step))
    if (!isPath) throw new Mismatch('loc: array of strings and integers', shown(loc), answer)
  }
}

/** Asserts that a malformed id in a path is refused: as malformed, or because no such path exists. */
export function expectNoSuchPath(answer: Answer): void {
  expectRefusal(answer, [404, 422])
}

export function expectEmpty(answer: Answer, status: number): void {
  expectStatus(answer, status)
  if (answer.bytes.length > 0) throw new Mismatch('no body', `a body of ${answer.bytes.length} bytes`, answer)
}

/** Asserts that no success came of it: any refusal is accepted where the specification names none. */
export function expectRefused(answer: Answer): void {
  if (answer.status < 400 || answer.status > 499) throw new Mismatch('a refusal (4xx)', `status ${answer.status}`, answer)
}

const SECRET_NAME = /pass(?:word|wd|phrase)|hash|secret|salt/i
const SECRET_VALUE = /\$(?:argon2|2[abxy]\$|scrypt|pbkdf2|[156]\$)|pbkdf2_sha/i

/** Asserts that no field of a body reveals a password or a hash. `forbidden` are further names, and values that must not appear. */
export function expectNoSecrets(answer: Answer, forbidden: { names?: readonly string[]; values?: readonly string[] } = {}): void {
  const names = fieldNames(answer.json).filter((name) => SECRET_NAME.test(name) || forbidden.names?.includes(name))
  if (names.length > 0) throw new Mismatch('no secret fields', `the field ${names.join(', ')}`, answer)
  if (SECRET_VALUE.test(answer.text)) throw new Mismatch('no password hash', 'a value that looks like one', answer)
  if (forbidden.values?.some((value) => answer.text.includes(value)))
    throw new Mismatch('no secret value', 'a body that contains one', answer)
}

function fieldNames(body: unknown): string[] {
  if (Array.isArray(body)) return [...new Set(body.flatMap(fieldNames))]
  return isObject(body) ? Object.entries(body).flatMap(([name, value]) => [name, ...fieldNames(value)]) : []
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hasType(value: unknown, type: Fields[string]): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'strings') return Array.isArray(value) && value.every((item) => typeof item === 'string')
  return typeof value === type
}

function shown(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}
