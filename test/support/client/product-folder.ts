import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from '../databases/databases.ts'
import { ROOT } from '../documents.ts'

/** A folder in which programs of a product find the clients that the documents name. */
export function productFolder(t: TestContext): string {
  const folder = temporaryFolder(t)
  const target = join(folder, 'node_modules/@latchkey/client')
  mkdirSync(target, { recursive: true })
  for (const name of ['jose', 'express']) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  copyFileSync(join(ROOT, 'packages/client/package.json'), join(target, 'package.json'))
  copyFileSync(join(ROOT, 'clients/python/latchkey.py'), join(folder, 'latchkey.py'))
  const compiler = [
    join(ROOT, 'node_modules/typescript/bin/tsc'),
    '--project',
    join(ROOT, 'packages/client'),
    '--outDir',
    join(target, 'dist'),
  ]
  assert.equal(spawnSync(process.execPath, compiler).status, 0)
  return folder
}
