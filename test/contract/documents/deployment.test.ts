import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { loadConfig } from '../../../src/config/load.ts'
import { until } from '../../support/app/eventually.ts'
import { temporaryFolder } from '../../support/databases/databases.ts'
import { execForm, readDockerfile, type Stage } from '../../support/servers/dockerfile.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { ORDINARY_PATHS, REFUSED_PATHS } from '../../support/servers/path-tables.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const NOBODY = { uid: 65_534, gid: 65_534 }

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
  assert.deepEqual(Object.keys(example).sort(), knownSettings())
  assert.deepEqual(loadConfig(example), loadConfig({}))
  assert.deepEqual(Object.keys(parseEnv(read('.env.example'))), [], 'a copy of it changes nothing')
})

// The image sets the first two. It listens on all addresses, where /dev/mail does not exist.
const NOT_PASSED: ReadonlySet<string> = new Set(['HOST', 'PORT', 'DEV_MAIL_TOKEN'])

test('compose.yaml passes on every setting that has an effect in a container, and no other', () => {
  const section = read('compose.yaml').split('    environment:\n')[1]?.split('    volumes:')[0] ?? ''
  const passed = [...section.matchAll(/^ {6}([A-Z_]+): /gm)].map(([, name = '']) => name)
  assert.deepEqual(
    passed.sort(),
    knownSettings().filter((name) => !NOT_PASSED.has(name)),
  )
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
    Object.keys(ORDINARY_PATHS).filter((path) => ambiguous.test(path)),
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

/** Copies the packages that `npm ci` would install from the packages of this folder. */
function installPackages(to: string, command: string): void {
  if (!command.includes('--omit=dev')) {
    symlinkSync(join(ROOT, 'node_modules'), to)
    return
  }
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: boolean }> }
  const wanted = Object.keys(packages).filter((path) => path.startsWith('node_modules/') && !packages[path]?.dev)
  for (const path of wanted.filter((candidate) => existsSync(join(ROOT, candidate))))
    cpSync(join(ROOT, path), join(dirname(to), path), { recursive: true, filter: (source) => basename(source) !== 'node_modules' })
}

/** Performs a COPY instruction: from the project folder, most of which .dockerignore hides, or from another stage. */
function copy(text: string, roots: ReadonlyMap<string, string>, root: string, cwd: string): void {
  const [, stage, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(text) ?? []
  const names = paths.split(' ')
  const to = names.pop() ?? ''
  const visible: readonly string[] = read('.dockerignore').match(/(?<=^!).*/gm) ?? []
  for (const name of names) {
    if (stage === undefined) assert.ok(visible.includes(name), `.dockerignore hides ${name}`)
    const source = stage === undefined ? join(ROOT, name) : join(roots.get(stage) ?? '', name)
    const target = to.startsWith('/') ? join(root, to) : join(cwd, to)
    cpSync(source, to.endsWith('/') ? join(target, basename(name)) : target, { recursive: true })
  }
}

/** Performs the instructions of a stage in a folder that represents its file system. */
function build(stage: Stage, root: string, roots: ReadonlyMap<string, string>): void {
  let cwd = root
  for (const { name, text } of stage.instructions) {
    if (name === 'WORKDIR') cwd = join(root, text)
    mkdirSync(cwd, { recursive: true })
    if (name === 'COPY') copy(text, roots, root, cwd)
    if (name === 'RUN' && text.startsWith('npm ci')) installPackages(join(cwd, 'node_modules'), text)
    else if (name === 'RUN' && text.startsWith('npm run')) execFileSync('sh', ['-c', text], { cwd, stdio: 'pipe' })
    else if (name === 'RUN') mkdirSync(join(root, text.split(' ').at(-1) ?? ''), { mode: 0o700 })
  }
}

function buildImage(t: TestContext): { root: string; image: Stage } {
  // Otherwise the folder could not be deleted.
  t.after(() => execFileSync('chmod', ['-R', 'u+w', folder]))
  const folder = temporaryFolder(t)
  chmodSync(folder, 0o755)
  const stages = readDockerfile(join(ROOT, 'Dockerfile'))
  const roots = new Map(stages.map(({ name }, index) => [name, join(folder, `stage${index}`)]))
  for (const stage of stages) build(stage, roots.get(stage.name) ?? '', roots)
  const image = stages.at(-1)
  assert.ok(image)
  return { root: roots.get(image.name) ?? '', image }
}

/** A copy of Node.js that the account may execute. */
function usableNode(account: typeof NOBODY | undefined, folder: string): string {
  if (!account || spawnSync(process.execPath, ['--version'], { ...account, cwd: '/' }).status === 0) return process.execPath
  cpSync(process.execPath, join(folder, 'node'))
  return join(folder, 'node')
}

test('the Dockerfile builds a service that runs unprivileged on a read-only file system and handles signals', async (t) => {
  const { root, image } = buildImage(t)
  const data = join(root, 'data')
  const account = process.getuid?.() === 0 ? NOBODY : undefined
  if (account) chownSync(data, account.uid, account.gid)
  execFileSync('chmod', ['-R', 'a-w,a+rX', join(root, 'app')])
  const declared = image.instructions.find(({ name }) => name === 'ENV')?.text ?? ''
  const port = await freePort()
  const settings = Object.fromEntries(declared.split(' ').map((pair) => pair.split(/=(.*)/).slice(0, 2)))
  const env = { ...settings, DATABASE_URL: String(settings['DATABASE_URL']).replace('/data', data), PORT: String(port) }
  const [program, ...args] = execForm(image, 'ENTRYPOINT')
  assert.equal(program, 'node')
  const node = usableNode(account, root)
  const command = (...words: string[]) => [...args.map((arg) => arg.replace('/app', join(root, 'app'))), ...words]
  const options = { ...account, env, cwd: root }

  await t.test('it runs as an unprivileged user, and its data folder is the only volume', () => {
    assert.deepEqual(
      image.instructions.filter(({ name }) => ['USER', 'VOLUME', 'WORKDIR'].includes(name)),
      [
        { name: 'WORKDIR', text: '/' },
        { name: 'USER', text: 'node' },
        { name: 'VOLUME', text: '/data' },
      ],
    )
    assert.match(image.image, /^node:26-slim$/)
  })

  const service = spawn(node, command(...execForm(image, 'CMD')), options)
  t.after(() => service.kill('SIGKILL'))
  let said = ''
  for (const stream of [service.stdout, service.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  await until('the service listens', () => /listens on/.test(said) || service.exitCode !== null)
  assert.equal(service.exitCode, null, said)
  assert.ok(
    said.includes(`  First admin    node ${join(root, 'app/dist/cli/latchkey.js')} user create --admin `),
    'the command can be typed there',
  )

  const [healthProgram, ...healthArgs] = execForm(image, 'HEALTHCHECK')
  assert.equal(healthProgram, 'node')
  const isHealthy = () => spawnSync(node, healthArgs, options).status
  assert.equal(isHealthy(), 0)
  assert.equal((await fetch(`http://127.0.0.1:${port}/ready`)).status, 200)
  assert.equal((await fetch(`http://127.0.0.1:${port}/docs`)).status, 200)
  assert.equal((await fetch(`http://127.0.0.1:${port}/redoc`)).status, 200)
  const listed = spawnSync(node, command('user', 'list', '--json'), { ...options, encoding: 'utf8' })
  assert.deepEqual([listed.status, listed.stdout, listed.stderr], [0, '[]\n', ''])
  const words = /docker compose run --rm latchkey (user create .*)$/m.exec(read('compose.yaml'))?.[1]?.split(' ') ?? []
  const created = spawnSync(node, command(...words), { ...options, encoding: 'utf8', input: 'a good password\n' })
  assert.deepEqual([created.status, created.stdout, created.stderr], [0, '1\n', ''])

  service.kill('SIGTERM')
  assert.deepEqual(await once(service, 'exit'), [0, null])
  assert.equal(isHealthy(), 1)
  assert.deepEqual(readdirSync(data).sort(), ['latchkey.db', 'secret.key'])
  assert.equal(statSync(join(data, 'secret.key')).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(root, 'app')).sort(), ['dist', 'migrations', 'node_modules', 'package.json'])
  rmSync(data, { recursive: true })
})
