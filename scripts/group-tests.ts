// Writes a file for each group of test files, which imports them: a process for every file spends a third of its time on starting, importing
// the service and compiling it.
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = '.test-groups'
const GROUP_COUNT = 48
/** They read the statements that their process has declared, and other test files declare some. */
const ALONE = ['test/storage/database.test.ts', 'test/storage/growth.test.ts', 'test/storage/postgres/pooled.test.ts']

const shared = globSync('test/**/*.test.ts')
  .sort()
  .filter((file) => !ALONE.includes(file))
// Neighbours are alike. Dealt out, no group has all the long ones.
const groups = Array.from({ length: GROUP_COUNT }, (_, group) => shared.filter((_, place) => place % GROUP_COUNT === group))
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER)
for (const [number, files] of [...groups, ...ALONE.map((file) => [file])].entries())
  writeFileSync(join(FOLDER, `${number}.ts`), files.map((file) => `import '../${file}'\n`).join(''))
