import { fileURLToPath } from 'node:url'
import { type BenchProcess, startProcess } from './process.ts'

/** The real service in its own process, on a free port. */
export type BenchService = BenchProcess & { readonly url: string }

// The same flags as `npm start`.
const COMMAND = [
  '--max-semi-space-size=4',
  '--import',
  new URL('../src/process/compile-cache.js', import.meta.url).href,
  fileURLToPath(new URL('../src/main.ts', import.meta.url)),
]

export async function startService(folder: string, env: Readonly<Record<string, string>>): Promise<BenchService> {
  const service = await startProcess(COMMAND, folder, { PORT: '0', LOG_LEVEL: 'warn', ...env }, /listens on (\S+)\n/)
  return { ...service, url: service.ready[1] ?? '' }
}
