import { type Reads, statement } from '../../database.ts'

// Jumps through the index from one kind to the next, however many accounts there are of each.
const LIST_KINDS = statement<{ kind: string }>(
  `select kind from (
    with recursive kinds (kind) as (
      select min(foreign_kind) from users where foreign_kind is not null
      union all
      select (select min(foreign_kind) from users where foreign_kind > kinds.kind) from kinds where kinds.kind is not null
    )
    select kind from kinds where kind is not null
  ) as found`,
)

/** The kinds of password hashes of other systems that accounts have. Empty unless accounts were imported. */
export async function listForeignKinds(db: Reads): Promise<string[]> {
  return (await db.all(LIST_KINDS)).map(({ kind }) => kind)
}
