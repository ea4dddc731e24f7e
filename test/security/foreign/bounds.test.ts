import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnusableHash } from '../../../src/security/foreign/foreign-hash.ts'
import { parseForeignHash } from '../../../src/security/foreign/kinds.ts'

/** Base64 of a number of bytes, without padding. */
const bytes = (length: number) => Buffer.alloc(length, 'k').toString('base64').replaceAll('=', '')

const argon2 = (cost: string, salt = 16, key = 32) => `$argon2id$v=19$${cost}$${bytes(salt)}$${bytes(key)}`
const scrypt = (cost: string) => `$scrypt$${cost}$${bytes(16)}$${bytes(32)}`
const pbkdf2 = (digest: string, iterations: number, key: number) => `$pbkdf2-${digest}$${iterations}$${bytes(16)}$${bytes(key)}`
const bcrypt = (cost: string) => `$2b$${cost}$${'X'.repeat(53)}`

/** Of each bound, the last hash that is accepted and the first one that is not. */
const BOUNDS: Readonly<Record<string, readonly [accepted: string, rejected: string]>> = {
  'the memory of argon2': [argon2('m=262144,t=1,p=1'), argon2('m=262145,t=1,p=1')],
  'the least memory of argon2 per lane': [argon2('m=32,t=1,p=4'), argon2('m=31,t=1,p=4')],
  'the passes of argon2': [argon2('m=1024,t=64,p=1'), argon2('m=1024,t=65,p=1')],
  'no passes of argon2': [argon2('m=1024,t=1,p=1'), argon2('m=1024,t=0,p=1')],
  'the memory of argon2 in all passes': [argon2('m=262144,t=4,p=1'), argon2('m=262144,t=5,p=1')],
  'the lanes of argon2': [argon2('m=1024,t=1,p=16'), argon2('m=1024,t=1,p=17')],
  'no lanes of argon2': [argon2('m=1024,t=1,p=1'), argon2('m=1024,t=1,p=0')],
  'the salt of argon2': [argon2('m=1024,t=1,p=1', 8), argon2('m=1024,t=1,p=1', 7)],
  'a long salt': [argon2('m=1024,t=1,p=1', 256), argon2('m=1024,t=1,p=1', 257)],
  'a short hash': [argon2('m=1024,t=1,p=1', 16, 16), argon2('m=1024,t=1,p=1', 16, 15)],
  'a long hash': [argon2('m=1024,t=1,p=1', 16, 128), argon2('m=1024,t=1,p=1', 16, 129)],
  'the highest cost of bcrypt': [bcrypt('14'), bcrypt('15')],
  'the lowest cost of bcrypt': [bcrypt('04'), bcrypt('03')],
  'the N of scrypt': [scrypt('ln=20,r=2,p=1'), scrypt('ln=21,r=2,p=1')],
  'the least N of scrypt': [scrypt('ln=1,r=8,p=1'), scrypt('ln=0,r=8,p=1')],
  'the r of scrypt': [scrypt('ln=10,r=64,p=1'), scrypt('ln=10,r=65,p=1')],
  'no r of scrypt': [scrypt('ln=10,r=1,p=1'), scrypt('ln=10,r=0,p=1')],
  'the p of scrypt': [scrypt('ln=10,r=8,p=64'), scrypt('ln=10,r=8,p=65')],
  'no p of scrypt': [scrypt('ln=10,r=8,p=1'), scrypt('ln=10,r=8,p=0')],
  'the memory of scrypt': [scrypt('ln=18,r=8,p=1'), scrypt('ln=18,r=9,p=1')],
  'the work of scrypt': [scrypt('ln=17,r=8,p=2'), scrypt('ln=17,r=8,p=3')],
  'the iterations of PBKDF2 with SHA-1': [pbkdf2('sha1', 4_000_000, 20), pbkdf2('sha1', 4_000_001, 20)],
  'the iterations of PBKDF2 with SHA-256': [pbkdf2('sha256', 4_000_000, 32), pbkdf2('sha256', 4_000_001, 32)],
  'the iterations of PBKDF2 with SHA-512': [pbkdf2('sha512', 1_500_000, 64), pbkdf2('sha512', 1_500_001, 64)],
  'the iterations of PBKDF2 for a hash of two blocks': [pbkdf2('sha256', 2_000_000, 33), pbkdf2('sha256', 2_000_001, 33)],
  'no iterations of PBKDF2': [pbkdf2('sha256', 1, 32), pbkdf2('sha256', 0, 32)],
}

for (const [name, [accepted, rejected]] of Object.entries(BOUNDS))
  test(`a password hash at the bound is accepted and one beyond it is not: ${name}`, () => {
    assert.equal(typeof parseForeignHash(accepted).matches, 'function')
    assert.throws(() => parseForeignHash(rejected), UnusableHash)
  })

test('a hash with a salt of no bytes is rejected', () => {
  assert.throws(() => parseForeignHash(`$pbkdf2-sha256$1000$a$${bytes(32)}`), UnusableHash)
})
