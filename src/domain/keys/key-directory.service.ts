import type { OwnedApiKey } from '../../model/api-key.ts'
import { listExpiredKeys, listUnusedKeys } from '../../storage/repositories/keys/key.repository.ts'
import type { DomainParts } from '../changes/parts.ts'

/** What admins see of all API keys: those that should be cleaned up. */
export type KeyDirectory = {
  /** Expired keys, the latest first. */
  expired(size: number): Promise<OwnedApiKey[]>
  /** Active keys that nobody has used for 90 days, the longest unused first. */
  unused(size: number): Promise<OwnedApiKey[]>
}

export const UNUSED_DAYS = 90

export function createKeyDirectory({ reads, now }: Pick<DomainParts, 'reads' | 'now'>): KeyDirectory {
  return {
    expired: (size) => listExpiredKeys(reads, now(), size),
    unused: (size) => listUnusedKeys(reads, now() - UNUSED_DAYS * 24 * 60 * 60_000, size),
  }
}
