/** Which database to open: a SQLite file, or the PostgreSQL database of a URL. */
export type DatabaseTarget = { readonly kind: 'sqlite'; readonly file: string } | { readonly kind: 'postgres'; readonly url: string }
