import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import postgres from 'postgres'
import { inspectDatabase } from '../../../src/storage/maintenance/inspection.ts'
import { migrate } from '../../../src/storage/open.ts'
import { type ContractContext, emptyPostgres, freshDatabase, test } from '../../support/databases/databases.ts'

type Subject = { differences(): Promise<string[]>; execute(sql: { sqlite: string; postgres: string }): Promise<void> }

async function migrated(t: ContractContext): Promise<Subject> {
  const target = t.database === 'sqlite' ? await freshDatabase(t, 'sqlite') : { kind: 'postgres' as const, url: await emptyPostgres(t) }
  await migrate(target)
  return {
    async differences() {
      const inspection = await inspectDatabase(target)
      return (inspection?.differences ?? assert.fail()).map(({ message, isHarmless }) => (isHarmless ? `(${message})` : message))
    },
    async execute(sql) {
      if (target.kind === 'sqlite') {
        const connection = new DatabaseSync(target.file)
        connection.exec(sql.sqlite)
        connection.close()
      } else {
        const client = postgres(target.url, { max: 1, onnotice: () => undefined })
        await client.unsafe(sql.postgres).simple()
        await client.end()
      }
    },
  }
}

test('a migrated database has the schema that the migrations create, also after it was analysed', async (t) => {
  const { differences, execute } = await migrated(t)
  assert.deepEqual(await differences(), [])
  await execute({ sqlite: 'analyze', postgres: 'analyze' })
  assert.deepEqual(await differences(), [])
})

test('a planted trigger is found', async (t) => {
  const { differences, execute } = await migrated(t)
  await execute({
    sqlite: "create trigger promote after insert on sessions begin update users set role = 'admin' where id = new.user_id; end",
    postgres: `
      create function promote() returns trigger language plpgsql as $$
      begin update users set role = 'admin' where id = new.user_id; return null; end $$;
      create trigger promote after insert on sessions for each row execute function promote()`,
  })
  assert.deepEqual(
    (await differences()).sort(),
    t.database === 'sqlite'
      ? ['trigger promote is not part of Latchkey']
      : ['function promote() is not part of Latchkey', 'trigger promote of sessions is not part of Latchkey'],
  )
})

test('changed, missing and added objects are found, and an index of the operator is harmless', async (t) => {
  const { differences, execute } = await migrated(t)
  await execute({
    sqlite: `
      drop index outbox_by_due;
      drop trigger users_search_insert;
      create trigger users_search_insert after insert on users begin update users set role = 'admin' where id = new.id; end;
      create index by_creation on users (created_at)`,
    postgres: `
      drop index outbox_by_due;
      alter table users alter column role set default 'admin';
      alter table users disable trigger users_search_insert;
      create rule promote as on update to users do also nothing;
      create or replace function keep_users_search() returns trigger language plpgsql as $$ begin return null; end $$;
      create index by_creation on users (created_at)`,
  })
  assert.deepEqual(
    (await differences()).sort(),
    t.database === 'sqlite'
      ? ['(index by_creation is not part of Latchkey)', 'index outbox_by_due is missing', 'trigger users_search_insert was changed']
      : [
          '(index by_creation is not part of Latchkey)',
          'column role of users was changed',
          'function keep_users_search() was changed',
          'index outbox_by_due is missing',
          'rule promote of users is not part of Latchkey',
          'trigger users_search_insert of users was changed',
        ],
  )
})

test('an index that refuses or computes something is not harmless', async (t) => {
  const { differences, execute } = await migrated(t)
  await execute({
    sqlite: `
      create unique index one_ban on users (banned) where banned;
      create unique index one_session on sessions (user_id);
      create index no_ban on users (json_extract(case when banned then 'x' else '{}' end, '$.a'))`,
    postgres: `
      create unique index one_ban on users (banned) where banned;
      create unique index one_session on sessions (user_id);
      create index no_ban on users ((1 / (case when banned then 0 else 1 end)))`,
  })
  assert.deepEqual((await differences()).sort(), [
    'index no_ban is not part of Latchkey',
    'index one_ban is not part of Latchkey',
    'index one_session is not part of Latchkey',
  ])
})

test('PostgreSQL: inheriting tables and row level security are found', async (t) => {
  if (t.database === 'sqlite') return
  const { differences, execute } = await migrated(t)
  await execute({ sqlite: '', postgres: 'create table more_users () inherits (users); alter table api_keys enable row level security' })
  assert.deepEqual((await differences()).sort(), ['table api_keys was changed', 'table users was changed'])
})

test('a check of the schema leaves nothing behind', async (t) => {
  const { differences, execute } = await migrated(t)
  await differences()
  await execute({
    sqlite: 'select 1',
    postgres: "do $$ begin if exists (select from pg_namespace where nspname like 'latchkey%') then raise 'left behind'; end if; end $$",
  })
})
