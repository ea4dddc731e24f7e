import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../src/model/refusal.ts'
import type { Secrets } from '../../src/security/derived-keys.ts'
import { generateSecretKey } from '../../src/security/secret-key.ts'
import { createTokens, type TokenKind, type Tokens } from '../../src/security/token.ts'

const AT = Date.UTC(2030, 0, 1)
const newSecret = () => new TextEncoder().encode(generateSecretKey())

function everyKind(tokens: Tokens): Record<TokenKind, string> {
  return {
    access: tokens.forSession('access', 7, 'session'),
    refresh: tokens.forSession('refresh', 7, 'session'),
    page: tokens.forSession('page', 7, 'session'),
    verify: tokens.forMail('verify', 7, 3),
    reset: tokens.forMail('reset', 7, 3),
    email_change: tokens.forMail('email_change', 7, 3),
    sign_in: tokens.forMail('sign_in', 7, 3),
    invitation: tokens.forMail('invitation', 7, 3),
  }
}

function accepts(secrets: Secrets, token: string, kind: TokenKind, at = AT): true | string {
  const tokens = createTokens(secrets, () => at)
  try {
    // The second reading uses the remembered token.
    assert.deepEqual(tokens.read(token, kind), tokens.read(token, kind))
    return true
  } catch (error) {
    if (error instanceof Refusal) return error.code
    throw error
  }
}

test('a token of every kind that any of three fallbacks has signed is accepted', () => {
  const current = newSecret()
  const formers = [newSecret(), newSecret(), newSecret()] as const
  for (const former of formers) {
    for (const [kind, token] of Object.entries(everyKind(createTokens([former], () => AT))) as [TokenKind, string][]) {
      assert.equal(accepts([current, ...formers], token, kind), true)
      assert.equal(accepts([current], token, kind), 'token_invalid')
    }
  }
})

test('nothing is signed with a fallback', () => {
  const [current, former] = [newSecret(), newSecret()]
  for (const [kind, token] of Object.entries(everyKind(createTokens([current, former], () => AT))) as [TokenKind, string][]) {
    assert.equal(accepts([current], token, kind), true)
    assert.equal(accepts([former], token, kind), 'token_invalid')
  }
})

test('a token of a fallback is checked like any other: its kind and its expiry', () => {
  const [current, former] = [newSecret(), newSecret()]
  const token = createTokens([former], () => AT).forSession('access', 7, 'session')
  assert.equal(accepts([current, former], token, 'refresh'), 'token_invalid')
  assert.equal(accepts([current, former], token, 'access', AT + 120 * 60_000 - 1), true)
  assert.equal(accepts([current, former], token, 'access', AT + 120 * 60_000), 'token_expired')
})

test('a token that none of the secrets has signed is refused', () => {
  const token = createTokens([newSecret()], () => AT).forSession('access', 7, 'session')
  assert.equal(accepts([newSecret(), newSecret(), newSecret(), newSecret()], token, 'access'), 'token_invalid')
})
