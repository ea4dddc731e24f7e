import { type Statement, statement } from '../../../src/storage/database.ts'

/** Inserts as many rows as its first parameter says. In `values`, `n` is the number of the row, from 1. */
export function insertMany(table: string, columns: string, values: string): Statement<unknown> {
  return statement(`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < cast($1 as bigint))
    insert into ${table} (${columns}) select ${values} from numbers`)
}

/** A different UUID for each row. */
export const ROW_ID = "'00000000-0000-4000-8000-' || cast(100000000000 + n as text)"
