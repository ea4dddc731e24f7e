import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { keyHolder, member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { COMPILERS, compile, installPacked, lendPackages, RESOLUTIONS } from '../support/client/packed.ts'
import { finished } from '../support/processes/processes.ts'
import { issueToken } from '../support/servers/offline-verifier.ts'

// The client of admins is for servers, and is left out where it is not imported.
const SIZES = [
  ['all verifiers', '{ createClient, createVerifier, createOfflineVerifier, LatchkeyError }', 6000],
  ['everything', '*', 8000],
] as const

/** What a product writes. Each call marked with @ts-expect-error must not compile. */
const PRODUCT = `
import { createClient, createOfflineVerifier, createVerifier, LatchkeyError, type Identity, type Tokens } from '@latchkey/client'
import { latchkey } from '@latchkey/client/express'

let kept: Tokens | null = null
const client = createClient({ url: 'https://accounts.example.com', storage: { get: () => kept, set: (tokens) => { kept = tokens } } })
await client.register({ email: 'a@b.io', password: 'long enough', firstName: 'A', lastName: 'B' })
export const name: string = (await client.me()).firstName
const { key, id } = await client.keys.create({ name: 'ci', scopes: [], expiresAt: new Date(), access: 'read' })
export const secret: string = key
await client.keys.update(id, { isActive: false, expiresAt: null })
await client.keys.rotate(id, { overlapSeconds: 60 }, { signal: AbortSignal.timeout(1000) })
export const current: boolean | undefined = (await client.sessions.list())[0]?.current
export const response: Response = await client.fetch('https://api.example.com/notes', { method: 'POST', body: 'text' })
const identity: Identity = await createVerifier({ url: 'https://accounts.example.com' }).verify(new Headers(), { role: 'admin', scope: 'a b' })
export const user: number = identity.userId
export const offline = createOfflineVerifier({ url: 'https://accounts.example.com', audience: 'reports' })
export const scopes: string[] | null = (await offline.verify({ authorization: 'Bearer …' })).scopes
export const middleware = latchkey({ url: 'https://accounts.example.com', scope: ['notes:read'] })

export function explain(error: unknown): string {
  if (!(error instanceof LatchkeyError)) return 'unknown'
  switch (error.code) {
    case 'wrong_credentials':
    case 'email_taken':
      return error.message
    case 'invalid_request':
      return error.issues?.map(({ msg }) => msg).join() ?? ''
    // @ts-expect-error: there is no such code.
    case 'wrong_credential':
      return ''
    default:
      return error.requestId ?? ''
  }
}
async function logIn(code: () => Promise<string>): Promise<Tokens> {
  const login = await client.login({ email: 'a@b.io', password: 'long enough' })
  switch (login.kind) {
    case 'session':
      return login.tokens
    case 'secondStep':
      return login.methods.includes('passkey') ? client.passkeys.signIn({ challenge: login.challenge }) : client.secondFactor.complete(login.challenge, await code())
  }
}
export const tokens = await logIn(async () => '123456')
// @ts-expect-error: a function that needs tokens must handle the second step.
export async function forgetful(): Promise<Tokens> {
  const login = await client.login({ email: 'a@b.io', password: 'long enough' })
  if (login.kind === 'session') return login.tokens
}
// @ts-expect-error: a login is not always a session.
;(await client.login({ email: 'a@b.io', password: 'long enough' })).tokens
await client.confirm({ password: 'long enough' })
// @ts-expect-error: something has to show who is calling.
await client.confirm({})
export const codes: string[] = await client.secondFactor.confirm('123456')
export const left: number = (await client.secondFactor.status()).recoveryCodes
export const backedUp: boolean = (await client.passkeys.add('My phone')).backedUp
await client.passkeys.signIn({ mediation: 'conditional', signal: AbortSignal.timeout(1000) })
// @ts-expect-error: the last name is required.
await client.register({ email: 'a@b.io', password: 'long enough', firstName: 'A' })
// @ts-expect-error: there is no such access.
await client.keys.create({ name: 'ci', access: 'write' })
// @ts-expect-error: only a new key has its secret.
;(await client.keys.get(id)).key
// @ts-expect-error: a token does not say the name of its user.
;(await offline.verify({})).firstName
// @ts-expect-error: an audience is needed.
createOfflineVerifier({ url: 'https://accounts.example.com' })
`

/** For adapters, whose types are those of the framework. */
const SERVICES = `
import { fastify } from 'fastify'
import { Hono } from 'hono'
import { latchkey as forFastify } from '@latchkey/client/fastify'
import { latchkey as forHono } from '@latchkey/client/hono'

const url = 'https://accounts.example.com'
fastify().get('/notes', { onRequest: forFastify({ url }) }, async (request) => request.identity.userId)
new Hono().get('/notes', forHono({ url, role: 'admin' }), (c) => c.text(c.get('identity').email))
`

/** Uses everything once, in a process of its own. */
const ONCE = `
import { createClient, createOfflineVerifier, createVerifier } from '@latchkey/client'
import { latchkey } from '@latchkey/client/express'
import '@latchkey/client/fastify'
import '@latchkey/client/hono'

const [url, given] = process.argv.slice(2)
const { email, password, key, offline } = JSON.parse(given)
const client = createClient({ url })
const refused = await client.login({ email, password: 'a wrong guess' }).catch(({ code }) => code)
await client.login({ email, password })
const { firstName } = await client.me()
const { status } = await client.fetch(new Request(url + '/users/me/sessions', { signal: AbortSignal.timeout(60_000) }))
const online = await createVerifier({ url }).verify({ 'x-api-key': key }, { scope: 'notes:read' }, { signal: AbortSignal.timeout(60_000) })
const verified = await createOfflineVerifier({ url, audience: 'reports' }).verify({ authorization: 'Bearer ' + offline })
console.log(refused, firstName, status, online.userId, verified.userId, typeof latchkey)
`

function versionOf(node: string): string {
  return spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.trim() ?? ''
}

/** Other versions of Node.js on this machine that the package supports. */
function olderNodes(): string[] {
  return ['/usr/bin/node', '/usr/local/bin/node'].filter((node) => Number(/^v(\d+)/.exec(versionOf(node))?.[1]) >= 20)
}

const NODE = { lib: ['es2022'], types: ['node'], skipLibCheck: true }
const PLATFORMS = {
  // Without the types of Node.js; the declarations of the package are checked too.
  'a browser': { lib: ['es2022', 'dom', 'dom.iterable'], types: [], ...RESOLUTIONS.bundler },
  'Node.js with node16': { ...NODE, ...RESOLUTIONS.node16 },
  'Node.js with nodenext': { ...NODE, ...RESOLUTIONS.nodenext },
  'Node.js with bundler': { ...NODE, ...RESOLUTIONS.bundler },
}

test('the client is packed, installed into an empty folder, and works there', async (t) => {
  const folder = installPacked(t, 'client', '--offline')
  const installed = join(folder, 'node_modules/@latchkey/client')

  await t.test('nothing else is installed, and there is nothing in the package but its build', () => {
    assert.deepEqual(
      readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
      ['@latchkey'],
    )
    const files = readdirSync(installed, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const unexpected = files.filter(({ name }) => !/\.js$|\.d\.ts$|^package\.json$|^README\.md$|^LICENSE$/.test(name))
    assert.deepEqual(unexpected, [])
    assert.deepEqual(files.filter(({ name }) => name === 'README.md' || name === 'LICENSE').length, 2)
  })

  for (const [what, imported, maxBytes] of SIZES)
    await t.test(`it is at most ${maxBytes} bytes, minified and gzipped, with ${what}`, async (st) => {
      const built = await build({
        stdin: { contents: `export ${imported} from '@latchkey/client'`, resolveDir: folder },
        bundle: true,
        minify: true,
        format: 'esm',
        target: 'es2022',
        write: false,
      })
      const bytes = gzipSync(built.outputFiles[0]?.contents ?? '', { level: 9 }).length
      st.diagnostic(`${bytes} bytes`)
      assert.ok(bytes > 1000 && bytes <= maxBytes, `${bytes} bytes`)
    })

  for (const node of [process.execPath, ...olderNodes()])
    await t.test(`it works in Node.js ${versionOf(node)}`, async (st) => {
      const service = await startListening(st)
      const mia = await member(service)
      const { key } = await keyHolder(service, mia, { scopes: ['notes:read'] })
      const offline = await issueToken(service.app, mia)
      writeFileSync(join(folder, 'once.mjs'), ONCE)
      const args = ['once.mjs', service.url, JSON.stringify({ email: mia.email, password: mia.password, key, offline })]
      const child = spawn(node, args, { cwd: folder, env: {} })
      st.after(() => child.kill('SIGKILL'))
      const { stdout, stderr } = await finished(child)
      assert.deepEqual([stdout, stderr], [`wrong_credentials ${mia.firstName} 200 ${mia.id} ${mia.id} function\n`, ''])
    })

  writeFileSync(join(folder, 'product.ts'), PRODUCT)
  writeFileSync(join(folder, 'services.ts'), SERVICES)
  lendPackages(folder, ['@types', 'undici-types', 'fastify', 'hono'])
  for (const [compiler, path] of Object.entries(COMPILERS))
    for (const [platform, options] of Object.entries(PLATFORMS))
      await t.test(`${compiler} accepts right calls and rejects wrong ones, for ${platform}`, () => {
        const files = platform === 'a browser' ? ['product.ts'] : ['product.ts', 'services.ts']
        assert.deepEqual(compile(folder, path, files, options), [0, ''])
      })
})
