// Hashes passwords on a machine with many cores, and prints what finishes in which order: a file access, a DNS look-up or a password.
import { lookup } from 'node:dns/promises'
import { stat } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { createPasswords } from '../../../src/security/password.ts'

const CORES = 16

os.availableParallelism = () => CORES
syncBuiltinESMExports()
// Slow enough to distinguish a free thread from one that had to be waited for.
const passwords = createPasswords({ memoryKiB: 64 * 1024, passes: 8, maxWaitMs: 600_000 })
const finished: string[] = []
const note = (name: string) => () => void finished.push(name)
for (let count = 0; count < CORES; count++) void passwords.hash('correct horse').then(note('password'))
// The passwords are handed to libuv first.
await new Promise(setImmediate)
await Promise.all([stat('.').then(note('file')), lookup('localhost').then(note('dns'))])
process.stdout.write(JSON.stringify(finished), () => process.exit())
