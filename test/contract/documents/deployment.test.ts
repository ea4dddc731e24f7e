import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { loadConfig } from '../../../src/config/load.ts'
import { PROVIDER_PARTS } from '../../../src/config/providers.ts'
import { startApp } from '../../support/app/start-app.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { runLatchkey } from '../../support/processes/command-line.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { ORDINARY_PATHS, REFUSED_PATHS } from '../../support/servers/path-tables.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

function knownSettings(): string[] {
  const asked = new Set<string>()
  const noting = new Proxy<Record<string, string>>({}, { get: (_, name) => void asked.add(String(name)) })
  loadConfig(noting)
  return [...asked].sort()
}

test('.env.example lists every setting with its default, and no other', () => {
  const example = parseEnv(read('.env.example').replace(/^#(?=[A-Z_]+=)/gm, ''))
  // Each provider has settings of its own. The example shows those of one.
  const ofProvider = Object.keys(PROVIDER_PARTS).map((part) => `PROVIDER_GOOGLE_${part}`)
  assert.deepEqual(Object.keys(example).sort(), [...knownSettings(), ...ofProvider].sort())
  assert.deepEqual(loadConfig(example), loadConfig({}))
  assert.deepEqual(Object.keys(parseEnv(read('.env.example'))), [], 'a copy of it changes nothing')
})

// The image sets the first two. It listens on all addresses, where /dev/mail does not exist. The last is in a file of its own.
const NOT_PASSED: ReadonlySet<string> = new Set(['HOST', 'PORT', 'DEV_MAIL_TOKEN', 'SIGN_IN_PROVIDERS'])

test('compose.yaml passes on every setting that has an effect in a container, and no other', () => {
  const section = read('compose.yaml').split('    environment:\n')[1]?.split('    volumes:')[0] ?? ''
  const passed = [...section.matchAll(/^ {6}([A-Z_]+): /gm)].map(([, name = '']) => name)
  assert.deepEqual(
    passed.sort(),
    knownSettings().filter((name) => !NOT_PASSED.has(name)),
  )
})

test('compose.yaml passes on every provider, whatever its name, and git ignores the file with their secrets', () => {
  assert.match(read('compose.yaml'), /^ {4}env_file:\n {6}- path: providers\.env\n {8}required: false$/m)
  assert.match(read('docs/providers.md'), /`compose\.yaml`, put these lines into a file `providers\.env`/)
  assert.ok(read('.gitignore').split('\n').includes('providers.env'))
})

test('compose.yaml names a version of every image that it does not build', () => {
  const services = read('compose.yaml').split(/^ {2}(?=\w+:$)/m)
  const images = services.filter((text) => !text.includes('build:')).flatMap((text) => /^ {4}image: (.*)$/m.exec(text)?.[1] ?? [])
  assert.deepEqual(
    images.map((image) => /^[\w./-]+:v?\d[\d.]*$/.test(image)),
    [true, true],
    String(images),
  )
})

test('compose.yaml mounts the folder of the files that settings name', () => {
  const compose = read('compose.yaml')
  const mounts = [...compose.matchAll(/^ {6}- \.\/(\w+):\/(\w+):ro$/gm)].map(([, from, to]) => [from, to])
  const named = parseEnv(/^# {3}(BRAND_LOGO=.*)$/m.exec(compose)?.[1]?.replaceAll(' ', '\n') ?? '')
  assert.deepEqual(Object.keys(named).sort(), ['BRAND_LOGO', 'PASSWORD_BLOCKLIST', 'TEMPLATES_DIR'])
  // The same path inside and outside, because the working folder of the image is /.
  for (const path of Object.values(named)) assert.deepEqual(mounts, [[dirname(path ?? ''), dirname(path ?? '')]])
})

test('every router of the Traefik example asks Latchkey or refuses, and no identity header of a client passes, whatever its spelling', () => {
  const [routers = '', middlewares = ''] =
    read('deploy/forward-auth.traefik.yml').split('\n  services:')[0]?.split('\n  middlewares:') ?? []
  const declared = [...middlewares.matchAll(/^ {4}([\w-]+):\n {6}forwardAuth:\n {8}address: http:\/\/127\.0\.0\.1:8000\/auth\/check/gm)]
  const names = declared.map(([, name]) => name)
  const asked = [...routers.matchAll(/^ {6}rule: .*\n {6}entryPoints: .*\n {6}middlewares: \[([\w-]+)\]$/gm)].map(([, name]) => name)
  assert.equal(asked.length, routers.match(/rule:/g)?.length)
  assert.deepEqual(asked.toSorted(), [...names, 'refuse'].toSorted())
  assert.match(middlewares, /^ {4}refuse:\n {6}ipAllowList:\n {8}sourceRange: \[255\.255\.255\.255\/32\]\n {8}rejectStatusCode: 400$/m)
  const removed = [...middlewares.matchAll(/authResponseHeadersRegex: \(\?i\)(.*)/g)].map(([, pattern = '']) => new RegExp(pattern, 'i'))
  assert.equal(removed.length, names.length)
  for (const header of ['LatchkeyUser', 'latchkeyuser', 'LATCHKEYROLE', 'Latchkey-User', 'Latchkey_User', 'LatchkeyScopes', 'LatchkeyKey'])
    assert.ok(
      removed.every((pattern) => pattern.test(header)),
      header,
    )
})

test('the examples for nginx, Caddy and Traefik refuse the same paths: those that a product may read differently', () => {
  const found = {
    nginx: /if \(\$request_uri ~\* "(.*)"\) \{\n {4}return 400;/.exec(read('deploy/forward-auth.nginx.conf'))?.[1],
    Caddy: /@ambiguous expression `\{http\.request\.uri\}\.matches\(r"\(\?i\)(.*)"\)`\n\t\trespond @ambiguous 400/.exec(
      read('deploy/forward-auth.Caddyfile'),
    )?.[1],
    Traefik: /app-ambiguous:\n.*PathRegexp\(`\(\?i\)(.*)`\)\n.*\n {6}middlewares: \[refuse\]\n.*\n.*\n.*\n {6}priority: 10000/.exec(
      read('deploy/forward-auth.traefik.yml'),
    )?.[1],
  }
  assert.deepEqual([found.nginx, found.Caddy], [found.Traefik, found.Traefik])
  const ambiguous = new RegExp(found.Traefik ?? assert.fail('there is no expression'), 'i')
  assert.deepEqual(
    REFUSED_PATHS.map((path) => path.replace('http://app.example.com/', '/')).filter((path) => !ambiguous.test(path)),
    [],
  )
  assert.deepEqual(
    Object.values(ORDINARY_PATHS)
      .flat()
      .filter((path) => ambiguous.test(path)),
    [],
  )
})

test('the systemd unit is valid, if systemd is installed to check it', (t) => {
  const unit = join(temporaryFolder(t), 'latchkey.service')
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return t.skip('systemd-analyze is not installed')
  // The program and its user exist only on the machine of an operator.
  cpSync(join(ROOT, 'deploy/latchkey.service'), unit)
  execFileSync('sed', ['-i', `s#/usr/bin/node#${process.execPath}#`, unit])
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  assert.deepEqual([status, stderr.split('\n').filter((line) => line.includes('latchkey.service'))], [0, []])
})

const IMAGE = `
ENV NODE_ENV=production HOST=0.0.0.0 DATABASE_URL=sqlite:/data/latchkey.db
RUN install --directory --owner=node --group=node --mode=0700 /data
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
COPY package.json /app/
COPY migrations /app/migrations
WORKDIR /
USER node
VOLUME /data
EXPOSE 8000`

test('the Dockerfile copies files that exist and that .dockerignore shows, and builds with all that the build needs', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) => names.split(' '))
  const visible: readonly string[] = read('.dockerignore').match(/(?<=^!).*/gm) ?? []
  assert.deepEqual([...new Set(copied)].sort(), visible.toSorted())
  for (const name of copied) assert.ok(existsSync(join(ROOT, name)), name)
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { build: string } }
  const needed = ['packages/conformance', 'tsconfig.build.json', 'scripts']
  for (const name of needed) assert.deepEqual([scripts.build.includes(name), copied.includes(name)], [true, true], name)
  assert.match(read('Dockerfile'), /AS dependencies\n(?:.*\n)*?RUN npm ci --omit=dev --ignore-scripts\n/)
})

test('the image runs as an unprivileged user who owns only /data, and signals reach the service without a shell', () => {
  const [, ...stages] = read('Dockerfile')
    .replace(/^#.*\n/gm, '')
    .split(/^FROM (?=node:26-slim(?: |\n))/m)
  assert.equal(stages.length, read('Dockerfile').match(/^FROM /gm)?.length)
  const [beginning = '', end = ''] = stages.at(-1)?.split('\nHEALTHCHECK') ?? []
  assert.equal(beginning.trim(), `node:26-slim${IMAGE}`)
  assert.match(end, /\nENTRYPOINT \["node", "--max-semi-space-size=4", "\/app\/dist\/cli\/latchkey\.js"\]\nCMD \["serve"\]\n$/)
})

test('the health check of the image succeeds while the service answers, and only then', async (t) => {
  const { app } = await startApp(t)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const [program, ...args] = JSON.parse(/CMD (\["node", "-e".*\])$/m.exec(read('Dockerfile'))?.[1] ?? '[]') as string[]
  assert.equal(program, 'node')
  const check = async (atPort: number) => (await once(spawn(process.execPath, args, { env: { PORT: String(atPort) } }), 'exit'))[0]
  assert.deepEqual([await check(port), await check(await freePort())], [0, 1])
})

test('the command of compose.yaml creates the first admin', async (t) => {
  const words = /docker compose run --rm latchkey (user create .*)$/m.exec(read('compose.yaml'))?.[1]?.split(' ') ?? []
  const created = await runLatchkey(words, { cwd: temporaryFolder(t), input: 'a good password\n' })
  assert.deepEqual(created, { code: 0, signal: null, stdout: '1\n', stderr: '' })
})
