import { DatabaseSync } from 'node:sqlite'

/** Records that are found by names. Most of them are on disk, so that memory does not grow with their number. */
type RecordStore<Value> = {
  /** Adds records. A name that an earlier record has keeps leading to that one. */
  add(records: readonly { readonly names: readonly string[]; readonly value: Value }[]): void
  /** The records that these names lead to, each once, in the order in which they were added. */
  find(names: readonly string[]): Value[]
  close(): void
}

const CACHE_KIB = 8000

/** Creates an empty store in a temporary file, which disappears with the process. Values have to survive JSON. */
export function createRecordStore<Value>(): RecordStore<Value> {
  // SQLite keeps a database without a name in a file that it deletes at once.
  const connection = new DatabaseSync('')
  connection.exec(`pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -${CACHE_KIB};
    create table records (id integer primary key, value text not null) strict;
    create table names (name text primary key, record integer not null) strict, without rowid`)
  const insert = connection.prepare('insert into records (id, value) select value ->> 0, value ->> 1 from json_each(?)')
  const insertNames = connection.prepare(
    'insert into names (name, record) select value ->> 0, value ->> 1 from json_each(?) where true on conflict do nothing',
  )
  const find = connection.prepare(
    'select value from records where id in (select record from names where name in (select value from json_each(?))) order by id',
  )
  let lastId = 0
  return {
    add(records) {
      const numbered = records.map((record) => ({ ...record, id: ++lastId }))
      insert.run(JSON.stringify(numbered.map(({ id, value }) => [id, JSON.stringify(value)])))
      insertNames.run(JSON.stringify(numbered.flatMap(({ id, names }) => names.map((name) => [name, id]))))
    },
    // The values were written by add().
    find: (names) => find.all(JSON.stringify(names)).map(({ value }) => JSON.parse(String(value)) as Value),
    close: () => connection.close(),
  }
}
