import { pino } from 'pino'
import { buildApp } from '../src/app.ts'
import { loadConfig } from '../src/config/load.ts'
import { createSealer } from '../src/domain/audit/sealer.ts'
import { prepare } from '../src/process/prepare.ts'
import { createPublicUrl } from '../src/shared/public-url.ts'
import { openDatabase } from '../src/storage/open.ts'

// The service with its audit trail, or without: then nothing is stored and nothing is sealed. No setting can turn the trail off.
const isAudited = process.argv[2] === 'on'
const config = loadConfig(process.env)
const logger = pino({ level: 'silent' })
const { secrets } = await prepare(config, logger)
const db = await openDatabase(config.database)
const app = await buildApp(config, {
  db,
  secrets,
  now: Date.now,
  logger,
  publicUrl: createPublicUrl(config.baseUrl),
  followUps: isAudited ? undefined : [],
})
const sealer = createSealer({ db, secrets, now: Date.now, onFailure: (error) => process.stderr.write(`${error}\n`) })
if (isAudited) sealer.start()
process.once('SIGTERM', async () => {
  await app.close()
  if (isAudited) await sealer.stop()
  await db.close()
  process.exit(0)
})
process.stdout.write(`listens on ${await app.listen({ port: 0, host: '127.0.0.1' })}\n`)
