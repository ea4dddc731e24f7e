import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { admin, keyHolder, member } from '../support/app/actors.ts'
import { startListening } from '../support/client/listening.ts'
import { ROOT } from '../support/documents.ts'
import { finished } from '../support/processes/processes.ts'
import { freePort } from '../support/servers/free-port.ts'
import { serve } from '../support/servers/listen.ts'

const FOLDER = join(ROOT, 'clients/python')
// The packages of Debian belong to its own Python, which may not be the first in the path.
const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3'

type Question = {
  readonly headers: Readonly<Record<string, string>>
  readonly role?: string
  readonly scope?: string | readonly string[]
  readonly data?: boolean
}

/** Asks once for each question, and prints the identity, or the status, the code and the headers of the refusal. */
const CHECK = `
import json, sys
from latchkey import Latchkey, LatchkeyError
latchkey = Latchkey(sys.argv[1], timeout=float(sys.argv[2]))
for question in json.load(sys.stdin):
    try:
        print(json.dumps(vars(latchkey.check(**question))))
    except LatchkeyError as error:
        print(json.dumps(f"{error.status} {error.code}"))
`

/** A service with FastAPI, called without a network. */
const SERVICE = `
import asyncio, json, sys
from fastapi import Depends, FastAPI
from latchkey import Identity, Latchkey
app = FastAPI()
latchkey = Latchkey(sys.argv[1], timeout=float(sys.argv[2]))

@app.get("/notes")
def notes(caller: Identity = Depends(latchkey.requires(scope="notes:read"))):
    return f"user {caller.user_id}"

async def call(headers):
    sent = []
    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}
    async def send(message):
        sent.append(message)
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": "/notes", "raw_path": b"/notes",
             "root_path": "", "query_string": b"", "headers": [(name.encode(), value.encode()) for name, value in headers.items()], "client": None, "server": None}
    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    print(json.dumps([sent[0]["status"], json.loads(body), headers.get("x-error-code"), headers.get("www-authenticate"), headers.get("retry-after")]))

for question in json.load(sys.stdin):
    asyncio.run(call(question["headers"]))
`

/** Runs a Python program with the client beside it. Returns the values that it prints. */
async function runPython(
  t: TestContext,
  program: string,
  url: string,
  questions: readonly Question[],
  timeoutSeconds = 60,
): Promise<unknown[]> {
  const env = { PATH: process.env['PATH'], PYTHONPATH: FOLDER, PYTHONDONTWRITEBYTECODE: '1' }
  const child = spawn(PYTHON, ['-W', 'error', '-c', program, url, String(timeoutSeconds)], { env })
  t.after(() => child.kill('SIGKILL'))
  child.stdin.end(JSON.stringify(questions))
  const { code, stdout, stderr } = await finished(child)
  assert.deepEqual([code, stderr], [0, ''])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Why a test cannot run on this machine. */
function missing(...modules: readonly string[]): string | undefined {
  const { status } = spawnSync(PYTHON, ['-c', ['import sys', ...modules.map((name) => `import ${name}`)].join('\n')], {
    stdio: 'ignore',
  })
  return status === 0 ? undefined : `python3 ${modules.map((name) => `with ${name} `).join('')}is not installed`
}

async function start(t: TestContext) {
  const service = await startListening(t)
  const mia = await member(service)
  const boss = await admin(service)
  const reader = await keyHolder(service, mia, { scopes: ['notes:read'] })
  return { service, mia, boss, reader }
}

test('latchkey.py identifies callers, and refuses as the service does', async (t) => {
  const reason = missing()
  if (reason !== undefined) return t.skip(reason)
  const { service, mia, boss, reader } = await start(t)
  const ask = (...questions: readonly Question[]) => runPython(t, CHECK, service.url, questions)
  const person = { user_id: mia.id, email: mia.email, first_name: mia.firstName, last_name: mia.lastName, role: 'user' }
  const credential = { method: 'api_key', session_id: null, key_id: reader.keyId, scopes: ['notes:read'], expires_at: null }
  const ofKey = { ...person, ...credential, data: null }
  assert.deepEqual(
    await ask(
      { headers: reader.headers, data: true },
      { headers: reader.headers, scope: 'notes:read' },
      { headers: { 'X-API-Key': reader.key, Accept: 'text/html' }, scope: ['notes:read'] },
      { headers: { 'x-api-key': 'unknown', authorization: `Bearer ${reader.key}` } },
      { headers: {} },
      { headers: { 'x-api-key': 'unknown' } },
      { headers: { ...reader.headers, authorization: 'Bearer broken' } },
      { headers: { 'x-api-key': 'two\nlines' } },
      { headers: { 'x-api-key': 'größe 🗝' } },
      { headers: reader.headers, scope: ['notes:read', 'notes:write'] },
      { headers: mia.headers, role: 'admin' },
      { headers: reader.headers, scope: '' },
      { headers: reader.headers, scope: [] },
      { headers: mia.headers, role: 'owner' },
    ),
    [
      { ...ofKey, data: { profile: {}, app: {} } },
      ofKey,
      ofKey,
      ofKey,
      '401 not_authenticated',
      '401 key_invalid',
      '401 token_invalid',
      '401 not_authenticated',
      '401 not_authenticated',
      '403 not_permitted',
      '403 not_permitted',
      '503 unavailable',
      '503 unavailable',
      '503 unavailable',
    ],
  )
  await service.app.inject({ method: 'POST', url: `/users/${mia.id}/ban`, headers: boss.headers })
  assert.deepEqual(await ask({ headers: mia.headers }, { headers: reader.headers }), ['401 token_invalid', '401 key_invalid'])
  return undefined
})

test('latchkey.py lets nobody in while Latchkey is down, hangs or is replaced by something else', async (t) => {
  const reason = missing()
  if (reason !== undefined) return t.skip(reason)
  const headers = { 'x-api-key': 'any' }
  const ask = async (url: string) => (await runPython(t, CHECK, url, [{ headers }], 1))[0]
  assert.equal(await ask(`http://127.0.0.1:${await freePort()}`), '503 unavailable')
  const answers: [number, string][] = [
    [200, '<h1>Welcome</h1>'],
    [200, 'null'],
    [200, '{"user_id":1}'],
    [204, ''],
    [302, ''],
    [401, 'no code'],
    [500, ''],
    [200, 'hang'],
  ]
  for (const [status, body] of answers) {
    const { url, stop } = await serve(t, async (request, response) => {
      await text(request)
      if (body !== 'hang') response.writeHead(status, { location: '/auth/other' }).end(body)
    })
    assert.equal(await ask(url), '503 unavailable', `${status} ${body}`)
    await stop()
  }
  return undefined
})

test('latchkey.py is a dependency of FastAPI', async (t) => {
  const reason = missing('fastapi')
  if (reason !== undefined) return t.skip(reason)
  const { service, mia, reader } = await start(t)
  const writer = await keyHolder(service, mia, { scopes: ['notes:write'] })
  const call = (...headers: Question['headers'][]) =>
    runPython(
      t,
      SERVICE,
      service.url,
      headers.map((sent) => ({ headers: sent })),
    )
  const invalid = 'Bearer error="invalid_token"'
  assert.deepEqual(await call({}, { 'x-api-key': 'unknown' }, writer.headers, reader.headers, mia.headers), [
    [401, { detail: 'Not authenticated. Use either JWT token or API key.' }, 'not_authenticated', 'Bearer', null],
    [401, { detail: 'Invalid API key' }, 'key_invalid', invalid, null],
    [403, { detail: 'Not enough permissions' }, 'not_permitted', null, null],
    [200, `user ${mia.id}`, null, null, null],
    [200, `user ${mia.id}`, null, null, null],
  ])
  await service.app.close()
  assert.deepEqual(await call(reader.headers), [[503, { detail: 'Service Unavailable' }, 'unavailable', null, '2']])
  return undefined
})
