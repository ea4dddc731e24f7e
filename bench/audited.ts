import { pino } from 'pino'
import { buildApp, createObservation } from '../src/app.ts'
import { loadConfig } from '../src/config/load.ts'
import { createSealer } from '../src/domain/audit/sealer.ts'
import { prepare } from '../src/process/prepare.ts'
import { createPasswords } from '../src/security/password.ts'
import { createServices } from '../src/services.ts'
import { createPublicUrl } from '../src/shared/addresses.ts'
import { openDatabase } from '../src/storage/open.ts'

// The service with its audit trail, or without: then nothing is stored and nothing is sealed. No setting can turn the trail off.
const isAudited = process.argv[2] === 'on'
const config = loadConfig(process.env)
const logger = pino({ level: 'silent' })
const { secrets } = await prepare(config, logger)
const db = await openDatabase(config.database)
const now = Date.now
const passwords = createPasswords()
const observation = createObservation(config, { db, now, passwords })
const services = createServices(config, {
  db,
  secrets: () => secrets,
  now,
  passwords,
  observer: observation.observer,
  followUps: isAudited ? undefined : [],
})
const app = await buildApp(config, services, { db, secrets, now, logger, publicUrl: createPublicUrl(config.baseUrl), observation })
const sealer = createSealer({ db, secrets, now: Date.now, onFailure: (error) => process.stderr.write(`${error}\n`) })
if (isAudited) sealer.start()
process.once('SIGTERM', async () => {
  await app.close()
  if (isAudited) await sealer.stop()
  await db.close()
  process.exit(0)
})
process.stdout.write(`listens on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
