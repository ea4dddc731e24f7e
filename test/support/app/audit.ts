import assert from 'node:assert/strict'
import { createSealer, type Sealer } from '../../../src/domain/audit/sealer.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { type Database, type Statement, statement } from '../../../src/storage/database.ts'
import type { TestApp } from './start-app.ts'

export type EventRow = {
  readonly id: number
  readonly at: number
  readonly kind: string
  readonly actor: number | null
  readonly via: string
  readonly target: number | null
  readonly key_id: string | null
  readonly request_id: string | null
  readonly ip: string | null
  readonly detail: string | null
}

const EVENTS: Statement<EventRow> = statement(
  'select id, at, kind, actor, via, target, key_id, request_id, ip, detail from events order by id',
)

/** The events of the audit trail, oldest first. */
export function storedEvents(db: Database): Promise<EventRow[]> {
  return db.all(EVENTS)
}

/** Their kinds and targets, in short. */
export async function storedKinds(db: Database): Promise<string[]> {
  return (await storedEvents(db)).map(({ kind, target }) => (target === null ? kind : `${kind} ${target}`))
}

/** A sealer with the secret and the clock of a service. It seals when the test calls `run`. */
export function sealerOf({ db, config, clock }: Pick<TestApp, 'db' | 'config' | 'clock'>): Sealer {
  return createSealer({ db, secrets: secretsOf(config), now: clock.now, onFailure: (error) => assert.fail(String(error)) })
}
