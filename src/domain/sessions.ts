import { randomBytes } from 'node:crypto'
import { LIFETIME_MINUTES, type Tokens } from '../security/token.ts'
import type { Queries } from '../storage/database.ts'
import { insertSession } from '../storage/session.repository.ts'

export type TokenPair = { readonly token: string; readonly refresh: string }

const ID_BYTES = 16

/** Opens a session and names it in two tokens. It ends when its refresh token does, unless it is revoked before. */
export async function openSession(db: Queries, tokens: Tokens, userId: number, now: number): Promise<TokenPair> {
  const id = randomBytes(ID_BYTES).toString('base64url')
  await insertSession(db, { id, userId, createdAt: now, expiresAt: now + LIFETIME_MINUTES.refresh * 60_000 })
  return { token: tokens.forSession('access', userId, id), refresh: tokens.forSession('refresh', userId, id) }
}
