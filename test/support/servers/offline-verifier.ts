import assert from 'node:assert/strict'
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyResult, jwtVerify } from 'jose'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import type { Actor } from '../app/actors.ts'
import type { TestApp } from '../app/start-app.ts'

export function requestToken(app: App, { headers }: Pick<Actor, 'headers'>, fields: object = {}) {
  return app.inject({ method: 'POST', url: '/auth/token', headers, payload: { audience: 'reports', ...fields } })
}

export async function issueToken(app: App, caller: Pick<Actor, 'headers'>, fields: object = {}): Promise<string> {
  const response = await requestToken(app, caller, fields)
  assert.equal(response.statusCode, 200, response.body)
  return response.json().token
}

export async function readKeySet(app: App): Promise<JSONWebKeySet> {
  const response = await app.inject('/.well-known/jwks.json')
  assert.equal(response.statusCode, 200, response.body)
  return response.json()
}

/** Verifies a token as another service does, with an independent library and the time of the test. */
export function verifyToken(
  { clock, config }: TestApp,
  keySet: JSONWebKeySet,
  token: string,
  audience = 'reports',
): Promise<JWTVerifyResult> {
  const currentDate = new Date(clock.now())
  return jwtVerify(token, createLocalJWKSet(keySet), {
    issuer: config.baseUrl,
    audience,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    currentDate,
  })
}
