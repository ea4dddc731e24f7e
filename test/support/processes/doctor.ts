import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Finding } from '../../../src/doctor/finding.ts'
import { migrate } from '../../../src/storage/open.ts'
import { TEST_SECRET } from '../app/start-app.ts'
import { temporaryFolder } from '../databases/databases.ts'

/** The warnings and errors of a check. Each has advice. */
export function problems(findings: readonly Finding[], check: string): string[] {
  for (const { verdict, advice } of findings) assert.equal(advice === undefined, verdict === 'ok', 'a problem has advice')
  return findings
    .filter((finding) => finding.check === check && finding.verdict !== 'ok')
    .map(({ verdict, message }) => `${verdict}: ${message}`)
}

/** Settings for a SQLite service without problems, in its own folder. */
export async function validSettings(t: TestContext) {
  const folder = join(temporaryFolder(t), 'data')
  const file = join(folder, 'latchkey.db')
  await migrate({ kind: 'sqlite', file })
  return { folder, file, env: { DATABASE_URL: `sqlite:${file}`, SECRET_KEY: TEST_SECRET, PORT: '0' } }
}
