import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClient } from '../../../packages/client/src/index.ts'
import { codeAt } from '../../../src/security/totp.ts'
import { keyHolder, member } from '../../support/app/actors.ts'
import { until } from '../../support/app/eventually.ts'
import { startApp, type TestApp } from '../../support/app/start-app.ts'
import { productFolder } from '../../support/client/product-folder.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { read } from '../../support/documents.ts'
import { post } from '../../support/http/requests.ts'
import { startMain } from '../../support/processes/main-process.ts'
import { LATCHKEY, runNode } from '../../support/processes/processes.ts'
import { assertSteps, missingTool, readSteps } from '../../support/processes/shell-page.ts'
import { freePort } from '../../support/servers/free-port.ts'

const PAGE = read('docs/integration.md')

const USER_CREATE = ['user', 'create', '--first-name', 'Ada', '--last-name', 'Admin', '--password', 'a good password']

/** A service that listens, and its URL. */
async function listening(t: TestContext): Promise<TestApp & { url: string }> {
  const service = await startApp(t)
  return { ...service, url: await service.app.listen({ host: '127.0.0.1', port: await freePort() }) }
}

test('every command of docs/integration.md prints what the page shows, in a shell that knows only what the page sets', async (t) => {
  const missing = missingTool('bash', 'curl')
  if (missing !== undefined) return t.skip(`${missing} is not installed: the commands of the page are not checked on this machine`)
  const folder = temporaryFolder(t)
  const { url } = await startMain(t, { cwd: folder })
  // The reader has followed the README, and has an account.
  const { code } = await runNode(t, LATCHKEY, [...USER_CREATE, '--admin', '--email', 'admin@example.com'], { cwd: folder })
  assert.equal(code, 0)
  const steps = readSteps(PAGE)
  assert.ok(steps.length >= 12, 'the page was not read whole')
  await assertSteps(steps, { folder, replaced: { 'http://localhost:8000': url } })
  return undefined
})

/** The commands that start a service, by its language. The first may build it. */
const COMMANDS: Readonly<Record<string, (file: string) => readonly (readonly string[])[]>> = {
  js: (file) => [[process.execPath, file]],
  python: (file) => [['python3', file]],
  go: (file) => [['go', 'build', '-o', 'notes', file], ['./notes']],
}
const TOOLS: Readonly<Record<string, string>> = { js: process.execPath, python: 'python3', go: 'go' }

type Program = { readonly language: string; readonly file: string; readonly text: string }

/** The programs of the page: blocks with the name of a file. */
function readPrograms(): Program[] {
  const blocks = PAGE.matchAll(/```(\w+) ([\w.]+)\n([\s\S]*?)```/g)
  return [...blocks].map(([, language = '', file = '', text = '']) => ({ language, file, text }))
}

function readProgram(name: string): Program {
  return readPrograms().find(({ file }) => file === name) ?? assert.fail(`the page has no ${name}`)
}

const SERVICES = readPrograms().filter(({ file }) => file.startsWith('notes.'))

/** Starts a service of the page with its own port, in front of the service at this URL. Returns the URL of the program. */
async function startProgram(t: TestContext, { language, file, text }: Program, url: string): Promise<string> {
  const folder = productFolder(t)
  const port = await freePort()
  writeFileSync(join(folder, file), text.replaceAll('http://localhost:8000', url).replaceAll('3001', String(port)))
  const commands = COMMANDS[language]?.(file) ?? []
  const env = { PATH: process.env['PATH'], HOME: folder }
  for (const [command = '', ...args] of commands.slice(0, -1)) {
    const { status, stderr } = spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' })
    assert.equal(status, 0, stderr)
  }
  const [command = '', ...args] = commands.at(-1) ?? []
  const child = spawn(command, args, { cwd: folder, env, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  return `http://127.0.0.1:${port}`
}

test('docs/integration.md has a service for each language', () => {
  assert.deepEqual(
    SERVICES.map(({ language }) => language),
    Object.keys(COMMANDS),
  )
})

for (const program of SERVICES) {
  test(`${program.file} of docs/integration.md refuses callers as Latchkey says, and everyone while Latchkey is down`, async (t) => {
    const missing = missingTool(TOOLS[program.language] ?? program.language)
    if (missing !== undefined) return t.skip(`${missing} is not installed: ${program.file} is not checked on this machine`)
    const service = await listening(t)
    const mia = await member(service)
    const reader = await keyHolder(service, mia, { scopes: ['notes:read'] })
    const writer = await keyHolder(service, mia, { scopes: ['notes:write'] })
    const url = await startProgram(t, program, service.url)
    const call = async (headers: Readonly<Record<string, string>>) => {
      const response = await fetch(url, { headers })
      return `${response.status} ${await response.text()}`
    }
    await until('the program listens', () => call({}).then(Boolean, () => false))
    const notes = `200 The notes of user ${mia.id}\n`
    assert.equal(await call({}), '401 ')
    assert.equal(await call({ 'x-api-key': 'unknown' }), '401 ')
    assert.equal(await call(writer.headers), '403 ')
    assert.equal(await call(reader.headers), notes)
    assert.equal(await call(mia.headers), notes)
    // A session decides before a key, for the program as for the service.
    assert.equal(await call({ ...reader.headers, authorization: 'Bearer broken' }), '401 ')
    await service.app.close()
    assert.equal(await call(reader.headers), '503 ')
    // A Latchkey that is killed while it answers, and something else on its port.
    for (const answer of [
      'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"user_id":1',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'hello\r\n\r\n',
    ]) {
      const impostor = createServer((socket) => {
        socket.on('error', () => undefined).once('data', () => socket.end(answer))
      })
      await once(impostor.listen(Number(new URL(service.url).port), '127.0.0.1'), 'listening')
      assert.equal(await call(reader.headers), '503 ', answer)
      impostor.close()
      await once(impostor, 'close')
    }
    assert.equal(await call(reader.headers), '503 ')
    return undefined
  })
}

test('403: admin.mjs of docs/integration.md refuses every caller whose role the proxy does not name as admin', async (t) => {
  const url = await startProgram(t, readProgram('admin.mjs'), 'http://localhost:8000')
  await until('the program listens', () => fetch(url).then(Boolean, () => false))
  const status = async (path: string, headers: Record<string, string> = {}) => (await fetch(url + path, { headers })).status
  for (const path of ['/admin', '/admin/users', '/ADMIN/users', '/admin/%2fusers', '/admin;x/users'])
    for (const headers of [{}, { LatchkeyRole: 'user' }, { LatchkeyRole: '' }] as Record<string, string>[])
      assert.notEqual(await status(path, headers), 200, path)
  assert.equal(await status('/admin/users', { LatchkeyRole: 'user' }), 403)
  assert.equal(await status('/admin/users', { LatchkeyRole: 'admin', LatchkeyUser: '7' }), 200)
})

test('login.mjs of docs/integration.md logs in and calls a service of the page', async (t) => {
  const service = await listening(t)
  const mia = await member(service, { email: 'mia@example.com', password: 'correct horse battery' })
  const url = await startProgram(t, readProgram('notes.mjs'), service.url)
  await until('the program listens', () => fetch(url).then(Boolean, () => false))
  const script = join(productFolder(t), 'login.mjs')
  writeFileSync(
    script,
    readProgram('login.mjs').text.replaceAll('http://localhost:8000', service.url).replaceAll('http://localhost:3001', url),
  )
  const { stdout, stderr } = await runNode(t, script, [], { cwd: dirname(script) })
  assert.deepEqual([stdout, stderr], [`The notes of user ${mia.id}\n\n`, ''])

  // With codes from an app, the same program asks for the second step.
  const client = createClient({ url: service.url, now: service.clock.now })
  await client.login({ email: mia.email, password: mia.password })
  const { secret } = await client.secondFactor.begin()
  const [recoveryCode] = await client.secondFactor.confirm(codeAt(secret, Math.floor(service.clock.now() / 30_000)))
  const again = await runNode(t, script, [], { cwd: dirname(script), input: `${recoveryCode}\n` })
  assert.deepEqual([again.stdout, again.stderr], [`The notes of user ${mia.id}\n\n`, 'Code: '])
})

/** Verifies a token with a program of the page, and prints what it returns or the code of its error. */
const VERIFY_ONCE = `const { verify } = await import(process.argv[2])
console.log(await verify(process.argv[3]).then(JSON.stringify, ({ code }) => code))
`

/** The programs that verify tokens, and the code of their error for a token of another service. */
const VERIFIERS = { 'verify.mjs': 'token_invalid', 'jose.mjs': 'ERR_JWT_CLAIM_VALIDATION_FAILED' }

for (const [file, errorCode] of Object.entries(VERIFIERS)) {
  test(`${file} of docs/integration.md accepts a token for its audience only, without asking the service`, async (t) => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const service = await startApp(t, { env: { BASE_URL: url } })
    await service.app.listen({ host: '127.0.0.1', port })
    const mia = await member(service)
    const reader = await keyHolder(service, mia, { scopes: ['notes:read', 'notes:write'] })
    const folder = productFolder(t)
    writeFileSync(join(folder, file), readProgram(file).text.replaceAll('http://localhost:8000', url))
    const script = join(folder, 'once.mjs')
    writeFileSync(script, VERIFY_ONCE)
    const verified = async (headers: Readonly<Record<string, string>>, audience: string) => {
      const response = await service.app.inject({
        ...post('/auth/token', { audience }),
        headers: { ...headers, 'content-type': 'application/json' },
      })
      const { stdout, stderr } = await runNode(t, script, [`./${file}`, response.json().token], { cwd: folder })
      return stdout.trim() || stderr
    }
    assert.equal(
      await verified(reader.headers, 'reports'),
      JSON.stringify({ userId: mia.id, role: 'user', scopes: ['notes:read', 'notes:write'] }),
    )
    assert.equal(await verified(mia.headers, 'reports'), JSON.stringify({ userId: mia.id, role: 'user' }))
    assert.equal(await verified(mia.headers, 'billing'), errorCode)
  })
}
