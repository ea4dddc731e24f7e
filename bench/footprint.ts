import { execFile } from 'node:child_process'
import { cpSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ask } from './client.ts'
import { startOn } from './contenders.ts'
import { median, type Report, type Section } from './figures.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const STARTS = 7
const SETTLE_MS = 5000

/** The start time, the memory and the disk space of an idle service. */
export async function measureFootprint(folder: string, report: Report): Promise<Section> {
  const startsMs: number[] = []
  const idleMb: number[] = []
  for (let start = 1; start <= STARTS; start++) {
    report(`footprint: start ${start} of ${STARTS}`)
    const begunAt = performance.now()
    const service = await startOn(folder, `sqlite:${join(folder, 'footprint.db')}`)
    await ask(service.url, { path: '/heartbeat' })
    startsMs.push(performance.now() - begunAt)
    if (start > STARTS - 3) {
      await sleep(SETTLE_MS)
      idleMb.push(service.memoryMb() ?? Number.NaN)
    }
    await service.stop()
  }
  report('footprint: installing for production')
  return {
    title: 'Footprint',
    how: `Median of ${STARTS} starts on an existing database; memory ${SETTLE_MS / 1000} s after each of the last three, with a filled compile cache; node_modules after npm ci --omit=dev.`,
    figures: [
      { name: 'start to first response', value: median(startsMs), unit: 'ms', atMost: 900 },
      { name: 'memory when idle', value: median(idleMb), unit: 'MB', atMost: 110 },
      { name: 'production install', value: await installedMb(join(folder, 'install')), unit: 'MB', atMost: 80 },
    ],
  }
}

async function installedMb(folder: string): Promise<number> {
  mkdirSync(folder)
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) cpSync(join(ROOT, file), join(folder, file))
  await promisify(execFile)('npm', ['ci', '--omit=dev'], { cwd: folder })
  const modules = join(folder, 'node_modules')
  const names = readdirSync(modules, { recursive: true, encoding: 'utf8' })
  // Files occupy whole blocks of the disk.
  return names.reduce((sum, name) => sum + (lstatSync(join(modules, name)).blocks * 512) / 1e6, 0)
}
