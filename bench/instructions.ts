import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { newFolder } from '../test/support/databases/run-folder.ts'
import { ask, logIn } from './client.ts'
import { ADMIN, SECRET_KEY } from './contenders.ts'
import { startProcess } from './process.ts'

/*
 * Counts the processor instructions of GET /users/me, for checkouts that are given as arguments. Rates differ by a tenth between two processes
 * of the same code, whatever else the machine does; these counts differ by less than a hundredth. They leave out what the system does, such as
 * sending. Needs valgrind and faketime, which Debian has.
 */
const WARM_UP = 6000
const COUNTED = 4000
// valgrind is fifty times slower than the processor. With a clock that is as slow, no work of a timer is counted more often than it runs.
const CLOCK = '+0 x0.01'
const FAKETIME = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu'].map((folder) => `${folder}/faketime/libfaketimeMT.so.1`)

const checkouts = process.argv.slice(2).map((given) => resolve(given))
if (checkouts.length === 0) {
  process.stderr.write('usage: node bench/instructions.ts CHECKOUT...\n')
  process.exit(1)
}
for (const checkout of checkouts) {
  const { token, key } = await count(checkout)
  process.stdout.write(`${checkout}: ${token} instructions with a token, ${key} with an API key\n`)
}
process.exit()

async function count(checkout: string): Promise<Readonly<Record<'token' | 'key', number>>> {
  const folder = newFolder('instructions')
  const node = ['--max-semi-space-size=4', '--single-threaded', '--import', join(checkout, 'src/process/compile-cache.js')]
  const valgrind = ['--tool=callgrind', '--instr-atstart=no', '--smc-check=all-non-file', `--callgrind-out-file=${folder}/counts.%p`]
  const env = {
    PORT: '0',
    LOG_LEVEL: 'warn',
    SECRET_KEY,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    DATABASE_URL: `sqlite:${join(folder, 'latchkey.db')}`,
    LD_PRELOAD: FAKETIME.find((file) => existsSync(file)) ?? '',
    FAKETIME: CLOCK,
  }
  const args = [...valgrind, process.execPath, ...node, join(checkout, 'src/main.ts')]
  const service = await startProcess(args, folder, env, /listens on (\S+)\n/, 'valgrind')
  const url = service.ready[1] ?? ''
  const { token } = await logIn(url, ADMIN.email, ADMIN.password)
  const { body } = await ask(url, { method: 'POST', path: '/users/keys', token, body: { name: 'bench' } })
  // The response contains the new key.
  const { key } = JSON.parse(body) as { key: string }

  async function repeat(credential: { token: string } | { key: string }, times: number): Promise<void> {
    for (let round = 0; round < times; round++) await ask(url, { path: '/users/me', ...credential })
  }

  async function counted(credential: { token: string } | { key: string }): Promise<number> {
    control('--instr=off')
    await repeat(credential, WARM_UP)
    control('--instr=on')
    control('--zero')
    await repeat(credential, COUNTED)
    control('--dump')
    // The counts are written when the program next runs.
    await repeat(credential, 1)
    const last = readdirSync(folder)
      .filter((name) => name.startsWith('counts.'))
      .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
      .at(-1)
    const total = /^(?:totals|summary): (\d+)/m.exec(readFileSync(join(folder, last ?? ''), 'utf8'))?.[1]
    return Math.round(Number(total) / COUNTED)
  }

  const control = (action: string) => execFileSync('callgrind_control', [action, String(service.pid)])
  // The service is killed at the end: with its slow clock, a graceful shutdown would take minutes.
  return { token: await counted({ token }), key: await counted({ key }) }
}
