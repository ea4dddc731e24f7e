import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { checkRotation, checkSecret } from '../../src/doctor/secret.checks.ts'
import { FORMER_SECRET_NEEDED_MS, HOLDER_EXPIRY_MS } from '../../src/domain/operations/secret-use.ts'
import { fingerprints } from '../../src/security/derived-keys.ts'
import { generateSecretKey } from '../../src/security/secret-key.ts'

const NOW = Date.UTC(2030, 5, 1)
const [OLD, NEW] = [generateSecretKey(), generateSecretKey()] as const
const nameOf = (secret: string) => fingerprints([new TextEncoder().encode(secret)])[0]

const settings = (current: string, fallbacks = '') =>
  loadConfig({ DATABASE_URL: 'postgres://me@localhost/x', SECRET_KEY: current, SECRET_KEY_FALLBACKS: fallbacks })

/** A process with a current secret and fallbacks. */
function processWith(id: string, current: string, fallbacks: readonly string[] = [], seenAt = NOW - 1000) {
  return [current, ...fallbacks].map((secret) => ({ processId: id, fingerprint: nameOf(secret), signs: secret === current, seenAt }))
}
const used = (secret: string, lastUsedAt = NOW - 1000) => ({ fingerprint: nameOf(secret), lastUsedAt })

const UNSEALED = { totpSeals: [] }

type Row = readonly [title: string, findings: ReturnType<typeof checkRotation>, verdict: string, message: RegExp]

const STEPS: readonly Row[] = [
  [
    'before a rotation',
    checkRotation(settings(OLD), { ...UNSEALED, secretUses: [used(OLD)], secretHolders: processWith('a', OLD) }, NOW),
    'ok',
    /^none in progress$/,
  ],
  [
    'step 1 has reached one of two processes',
    checkRotation(
      settings(OLD, NEW),
      { ...UNSEALED, secretUses: [used(OLD)], secretHolders: [...processWith('a', OLD, [NEW]), ...processWith('b', OLD)] },
      NOW,
    ),
    'warning',
    /^processes with other secrets than these settings: 1 of 2$/,
  ],
  [
    'step 1 is done',
    checkRotation(
      settings(OLD, NEW),
      { ...UNSEALED, secretUses: [used(OLD)], secretHolders: [...processWith('a', OLD, [NEW]), ...processWith('b', OLD, [NEW])] },
      NOW,
    ),
    'warning',
    /is new: it has not signed anything, and every running process accepts it$/,
  ],
  [
    'step 2 has reached one of two processes',
    checkRotation(
      settings(NEW, OLD),
      {
        ...UNSEALED,
        secretUses: [used(OLD), used(NEW)],
        secretHolders: [...processWith('a', NEW, [OLD]), ...processWith('b', OLD, [NEW])],
      },
      NOW,
    ),
    'warning',
    /^processes with other secrets than these settings: 1 of 2$/,
  ],
  [
    'step 2 is done',
    checkRotation(
      settings(NEW, OLD),
      { ...UNSEALED, secretUses: [used(OLD, NOW - FORMER_SECRET_NEEDED_MS + 1), used(NEW)], secretHolders: processWith('a', NEW, [OLD]) },
      NOW,
    ),
    'ok',
    /has signed tokens that are valid until 2030-06-01T00:00Z$/,
  ],
  [
    'the last token of the former secret has expired',
    checkRotation(
      settings(NEW, OLD),
      { ...UNSEALED, secretUses: [used(OLD, NOW - FORMER_SECRET_NEEDED_MS), used(NEW)], secretHolders: processWith('a', NEW, [OLD]) },
      NOW,
    ),
    'warning',
    /is no longer needed: its last token has expired$/,
  ],
  [
    'the former secret still encrypts codes',
    checkRotation(
      settings(NEW, OLD),
      {
        totpSeals: [{ sealedWith: nameOf(OLD), count: 2, users: '1, 2' }],
        secretUses: [used(OLD, NOW - FORMER_SECRET_NEEDED_MS), used(NEW)],
        secretHolders: processWith('a', NEW, [OLD]),
      },
      NOW,
    ),
    'warning',
    /still encrypts the codes of 2 accounts$/,
  ],
  [
    'step 3 is done',
    checkRotation(
      settings(NEW),
      { ...UNSEALED, secretUses: [used(OLD, NOW - FORMER_SECRET_NEEDED_MS), used(NEW)], secretHolders: processWith('a', NEW) },
      NOW,
    ),
    'ok',
    /^none in progress$/,
  ],
  [
    'step 1 was left out',
    checkRotation(
      settings(NEW, OLD),
      { ...UNSEALED, secretUses: [used(OLD), used(NEW)], secretHolders: [...processWith('a', NEW, [OLD]), ...processWith('b', OLD)] },
      NOW,
    ),
    'error',
    /^processes that sign tokens which another process refuses: 1 of 2$/,
  ],
  [
    'the former secret was left out',
    checkRotation(settings(NEW), { ...UNSEALED, secretUses: [used(OLD), used(NEW)], secretHolders: processWith('a', NEW) }, NOW),
    'warning',
    /^a secret that signed tokens until 2030-05-31T23:59Z is no longer accepted: its sessions and mailed links are refused$/,
  ],
  [
    'a process was killed some time ago',
    checkRotation(
      settings(NEW, OLD),
      {
        ...UNSEALED,
        secretUses: [used(OLD), used(NEW)],
        secretHolders: [...processWith('a', NEW, [OLD]), ...processWith('b', OLD, [], NOW - HOLDER_EXPIRY_MS)],
      },
      NOW,
    ),
    'ok',
    /has signed tokens that are valid until/,
  ],
]

for (const [title, findings, verdict, message] of STEPS) {
  test(`doctor on a rotation: ${title}`, () => {
    assert.deepEqual(
      findings.map((finding) => finding.verdict),
      [verdict],
    )
    assert.match(findings[0]?.message ?? '', message)
    assert.equal(findings[0]?.advice === undefined, verdict === 'ok')
    const text = JSON.stringify(findings)
    for (const secret of [OLD, NEW]) assert.ok(!text.includes(secret) && !text.includes(nameOf(secret)))
  })
}

test('doctor says how many fallbacks are set, and not which', () => {
  assert.deepEqual(checkSecret(settings(OLD))[0]?.message, 'SECRET_KEY has 64 bytes; SECRET_KEY_FALLBACKS is not set')
  assert.deepEqual(checkSecret(settings(NEW, OLD))[0]?.message, 'SECRET_KEY has 64 bytes; SECRET_KEY_FALLBACKS has 1 secret')
})
