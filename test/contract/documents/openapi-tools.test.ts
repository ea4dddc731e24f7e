import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { readApiDocument } from '../../support/http/openapi.ts'
import { EVERY_ROUTE } from '../../support/http/routes.ts'

const REDOCLY = program('@redocly/cli/bin/cli.js')
const OPENAPI_TYPESCRIPT = program('openapi-typescript/bin/cli.js')
const TSC = program('typescript/bin/tsc')
const RULES = fileURLToPath(new URL('../../../redocly.yaml', import.meta.url))

/** Calls that a developer writes against the generated types. Each call marked with @ts-expect-error must not compile. */
const CLIENT = `
import type { components, operations, paths } from './api.d.ts'

type Json<Content> = Content extends { content: { 'application/json': infer Body } } ? Body : undefined
type Request<Id extends keyof operations> = operations[Id] extends { requestBody: infer Body } ? Json<Body> : undefined
type Success<Id extends keyof operations> = {
  [Status in keyof operations[Id]['responses'] & (200 | 201 | 204)]: Json<operations[Id]['responses'][Status]>
}[keyof operations[Id]['responses'] & (200 | 201 | 204)]

declare function call<Id extends keyof operations>(id: Id, body: Request<Id>): Promise<Success<Id>>

const registered = await call('register', { email: 'a@b.io', password: 'long enough', first_name: 'A', last_name: 'B' })
export const token: string = registered.token
export const profile: components['schemas']['Profile'] = await call('getOwnProfile', undefined)
const key = await call('createApiKey', { name: 'Export' })
export const secret: string = key.key
export const scopes: string[] = key.scopes
export const changed: components['schemas']['ApiKey'] = await call('updateApiKey', { is_active: false })
export const users: components['schemas']['User'] | components['schemas']['User'][] = await call('listUsers', undefined)
export const role: 'user' | 'admin' = ([users].flat()[0] as components['schemas']['User']).role
export const location: components['schemas']['ValidationIssue']['loc'] = ['body', 'scopes', 0]
export const refusal: components['schemas']['ErrorResponse'] = { detail: 'Not Found' }
// Fields and parameters with a default are optional, and null stands for the default.
export const bodies: components['schemas']['NewApiKey'][] = [{ name: 'Export' }, { name: 'Export', scopes: null }]
export const query: operations['searchUsers']['parameters']['query'] = { search_term: 'mia' }
// No generated type has the name of a JavaScript global, so that a client can import the types by their names.
export const globals: Extract<keyof components['schemas'], keyof typeof globalThis> extends never ? 'none' : 'some' = 'none'
export const userId: operations['deleteUser']['parameters']['path']['user_id'] = 7
export const path: keyof paths = '/users/{user_id}/make-admin'

// @ts-expect-error: the last name is required.
await call('register', { email: 'a@b.io', password: 'long enough', first_name: 'A' })
// @ts-expect-error: a password is a string.
await call('login', { email: 'a@b.io', password: 12345678 })
// @ts-expect-error: there is no such endpoint.
await call('promote', undefined)
// @ts-expect-error: a profile has no role.
profile.role
// @ts-expect-error: only a new key has its secret.
changed.key
// @ts-expect-error: the id of a user is a number.
export const wrongId: operations['deleteUser']['parameters']['path']['user_id'] = 'seven'
// @ts-expect-error: there is no such path.
export const wrongPath: keyof paths = '/users/{user_id}/demote'
`

function program(path: string): string {
  return fileURLToPath(new URL(`../../../node_modules/${path}`, import.meta.url))
}

/** Runs a JavaScript tool. Returns its output and its exit code. */
function run(folder: string, script: string, ...parameters: string[]): Promise<{ readonly code: unknown; readonly output: string }> {
  // Otherwise the linter reports its use to its vendor and looks for a newer version.
  const env = { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', CI: 'true' }
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...parameters], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
  })
}

async function writeDocument(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(await readApiDocument(t, EVERY_ROUTE)))
  return folder
}

test('redocly lint reports no error and no warning', async (t) => {
  const folder = await writeDocument(t)
  const { code, output } = await run(folder, REDOCLY, 'lint', '--config', RULES, '--format', 'json', 'openapi.json')
  const { totals, problems } = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1))
  assert.deepEqual({ code, totals, problems }, { code: 0, totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] })
})

test('a client generated from the document compiles, and wrong calls do not', async (t) => {
  const folder = await writeDocument(t)
  // With the treatment of defaults that is the default from version 7 on.
  const options = ['--output', 'api.d.ts', '--default-non-nullable']
  const generated = await run(folder, OPENAPI_TYPESCRIPT, 'openapi.json', ...options)
  assert.equal(generated.code, 0, generated.output)
  writeFileSync(join(folder, 'client.ts'), CLIENT)
  const parameters = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--allowImportingTsExtensions', 'client.ts']
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  assert.deepEqual(await run(folder, TSC, ...parameters), { code: 0, output: '' })
})
