import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export type Load = {
  readonly url: string
  readonly method?: 'GET' | 'POST' | 'PATCH'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly connections: number
  readonly seconds: number
}
export type LoadResult = { readonly requestsPerSecond: number; readonly p99Ms: number }

/** Sends load to a server from a separate process. Throws if any response is an error. */
export type LoadGenerator = { readonly name: string; run(load: Load): Promise<LoadResult> }

const AUTOCANNON = fileURLToPath(new URL('./peers/node_modules/autocannon/autocannon.js', import.meta.url))
const run = promisify(execFile)

/** wrk if it is installed, because it uses the least CPU time; otherwise autocannon, which npm installs. */
export function findLoadGenerator(folder: string): LoadGenerator {
  const hasWrk = spawnSync('wrk', ['--version']).error === undefined
  return hasWrk ? { name: 'wrk', run: (load) => runWrk(load, folder) } : { name: 'autocannon', run: runAutocannon }
}

async function runWrk(load: Load, folder: string): Promise<LoadResult> {
  const script = join(folder, 'load.lua')
  writeFileSync(script, wrkScript(load))
  const { connections, seconds, url } = load
  const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, url])
  const [requests, microseconds, p99, errors] = (/^counted (.*)$/m.exec(stdout)?.[1] ?? '').split(' ').map(Number)
  return result(load, Number(requests) / (Number(microseconds) / 1e6), Number(p99) / 1000, Number(errors))
}

// These JSON strings are also valid Lua strings.
function wrkScript({ method = 'GET', headers = {}, body }: Load): string {
  return [
    `wrk.method = ${JSON.stringify(method)}`,
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`),
    ...(body === undefined ? [] : [`wrk.body = ${JSON.stringify(body)}`]),
    'done = function(summary, latency)',
    '  local e = summary.errors',
    '  print(string.format("counted %d %d %d %d", summary.requests, summary.duration, latency:percentile(99), e.status + e.connect + e.read + e.write + e.timeout))',
    'end',
    '',
  ].join('\n')
}

type AutocannonResult = {
  readonly requests: { readonly average: number }
  readonly latency: { readonly p99: number }
  readonly non2xx: number
  readonly errors: number
}

async function runAutocannon(load: Load): Promise<LoadResult> {
  const { url, method = 'GET', headers = {}, body, connections, seconds } = load
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const payload = body === undefined ? [] : ['-b', body]
  const args = ['--json', '--no-progress', '-m', method, '-c', String(connections), '-d', String(seconds), ...given, ...payload, url]
  const { stdout } = await run(process.execPath, [AUTOCANNON, ...args], { maxBuffer: 1e8 })
  // The fields that autocannon documents.
  const { requests, latency, non2xx, errors } = JSON.parse(stdout) as AutocannonResult
  return result(load, requests.average, latency.p99, non2xx + errors)
}

function result({ url, method = 'GET' }: Load, requestsPerSecond: number, p99Ms: number, errors: number): LoadResult {
  if (errors > 0 || !(requestsPerSecond > 0)) throw new Error(`${method} ${url}: ${errors} requests failed`)
  return { requestsPerSecond, p99Ms }
}
