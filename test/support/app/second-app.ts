import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { buildApp, createObservation } from '../../../src/app.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createPasswords } from '../../../src/security/password.ts'
import { createServices } from '../../../src/services.ts'
import { createPublicUrl } from '../../../src/shared/addresses.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { requireDeclaredErrors } from '../http/declared-errors.ts'
import type { TestApp } from './start-app.ts'

/** A second service on the same database with its own connections, like another process. */
export async function secondApp(t: TestContext, { config, clock }: TestApp): Promise<App> {
  const db = await openDatabase(config.database)
  const secrets = secretsOf(config)
  const { now } = clock
  const passwords = createPasswords()
  const observation = createObservation(config, { db, now, passwords })
  const services = createServices(config, { db, secrets: () => secrets, now, passwords, observer: observation.observer })
  const app = await buildApp(config, services, {
    db,
    secrets,
    now,
    logger: pino({ level: 'silent' }),
    publicUrl: createPublicUrl(config.baseUrl),
    observation,
  })
  t.after(async () => {
    await app.close()
    await db.close()
  })
  requireDeclaredErrors(t, app)
  return app
}
