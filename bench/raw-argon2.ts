import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { PASSWORD_OPTIONS } from '../src/security/password.ts'

// Measures how many passwords the library alone checks per second with all cores: the upper bound for logins.
const seconds = Number(process.argv[2])
const ARGON2ID = 2
const cost = { algorithm: ARGON2ID, memoryCost: PASSWORD_OPTIONS.memoryKiB, timeCost: PASSWORD_OPTIONS.passes, parallelism: 1 }
const hashed = await hash('correct horse', cost)
const startedAt = performance.now()
let checked = 0

async function checkAgainAndAgain(): Promise<void> {
  while (performance.now() - startedAt < seconds * 1000) {
    await verify(hashed, 'correct horse')
    checked++
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, checkAgainAndAgain))
process.stdout.write(`checks ${checked / ((performance.now() - startedAt) / 1000)} a second\n`)
