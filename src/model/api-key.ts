/** The routes that a key may call: every route of its owner, routes that only read, or only routes that identify the caller. */
export type KeyAccess = 'full' | 'read' | 'identify'

export type ApiKey = {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly isActive: boolean
  readonly scopes: readonly string[]
  readonly access: KeyAccess
  readonly expiresAt: number | undefined
  /** The first characters of the key. Unknown for keys of older versions. */
  readonly prefix: string | undefined
  readonly lastUsedAt: number | undefined
  /** When the last secret that a rotation replaced stops working. */
  readonly retiringUntil: number | undefined
}

/** What is left out stays as it is. */
export type ApiKeyChanges = {
  readonly name?: string | undefined
  readonly isActive?: boolean | undefined
  /** Null removes the expiry. */
  readonly expiresAt?: number | null | undefined
}

/** A key with its owner, as admins see it in a list. */
export type OwnedApiKey = Pick<ApiKey, 'id' | 'name' | 'prefix' | 'createdAt' | 'isActive' | 'expiresAt' | 'lastUsedAt'> & {
  readonly ownerId: number
  readonly ownerEmail: string
}
