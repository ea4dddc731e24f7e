import { type Queries, type Reads, statement } from '../../database.ts'

// Jumps through the index from one kind to the next, however many accounts there are of each.
const KINDS = `
  with recursive kinds (kind) as (
    select min(foreign_kind) from users where foreign_kind is not null
    union all
    select (select min(foreign_kind) from users where foreign_kind > kinds.kind) from kinds where kinds.kind is not null
  )
  select kind from kinds where kind is not null`

const LIST_KINDS = statement<{ kind: string }>(`select kind from (${KINDS} limit $1) as found`)

/** For the inspection of a database that the service has not opened. */
export const READ_FOREIGN_KINDS = `${KINDS} limit 1000`

const RENAME_KIND = statement(`
  update users set foreign_kind = $2 where foreign_kind = $1 and id in (select id from users where foreign_kind = $1 limit $3)`)

/** The kinds of password hashes of other systems that accounts have, up to a number. Empty unless accounts were imported. */
export async function listForeignKinds(db: Reads, limit: number): Promise<string[]> {
  return (await db.all(LIST_KINDS, limit)).map(({ kind }) => kind)
}

/** Gives at most `limit` accounts of one kind another one. Returns how many there were. */
export async function renameForeignKind(db: Queries, kind: string, newKind: string, limit: number): Promise<number> {
  return db.run(RENAME_KIND, kind, newKind, limit)
}
