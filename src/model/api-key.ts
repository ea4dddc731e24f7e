export type ApiKey = {
  readonly id: string
  readonly name: string
  readonly createdAt: number
  readonly isActive: boolean
  readonly scopes: readonly string[]
}
