/** Which database to open: a SQLite file, or the PostgreSQL database of a URL. */
export type DatabaseTarget = { readonly kind: 'sqlite'; readonly file: string } | PostgresTarget

export type PostgresTarget = {
  readonly kind: 'postgres'
  readonly url: string
  /** A replica, from which lists and searches are read. */
  readonly replicaUrl?: string | undefined
}
