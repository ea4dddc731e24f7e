import assert from 'node:assert/strict'
import type { LightMyRequestResponse } from 'fastify'
import { ANSWERS, type Answer } from '../../../src/http/answers/answers.ts'

/** Asserts the status, the whole body and the code of a refusal. */
export function refused(response: LightMyRequestResponse, status: number, detail: string): void {
  assert.deepEqual({ status: response.statusCode, body: response.json() }, { status, body: { detail } })
  const answer = Object.values<Answer>(ANSWERS).find((known) => known.detail === detail)
  assert.equal(response.headers['x-error-code'], answer?.code ?? `no code for ${detail}`)
}

/** Asserts a 422 with exactly these validation errors, in this order. */
export function invalid(response: LightMyRequestResponse, ...expected: { loc: (string | number)[]; type: string }[]): void {
  assert.equal(response.statusCode, 422, response.body)
  assert.equal(response.headers['x-error-code'], 'invalid_request')
  const { detail } = response.json<{ detail: { loc: (string | number)[]; msg: string; type: string }[] }>()
  assert.deepEqual(
    detail.map(({ loc, type }) => ({ loc, type })),
    expected,
  )
  for (const error of detail) assert.deepEqual(Object.keys(error).sort(), ['loc', 'msg', 'type'])
}
