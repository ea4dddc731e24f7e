// Registers an account; the test then kills the process, after the commit or while the mail is being sent.
import { setInterval } from 'node:timers'
import { pino } from 'pino'
import { loadConfig } from '../../../src/config/load.ts'
import { openTransport } from '../../../src/delivery/mail/file.transport.ts'
import { createMailDispatcher } from '../../../src/delivery/mail/mail.delivery.ts'
import { secretsOf } from '../../../src/process/secrets.ts'
import { createServices } from '../../../src/services.ts'
import { openDatabase } from '../../../src/storage/open.ts'
import { ORIGIN } from '../http/origins.ts'

const config = loadConfig(process.env)
const db = await openDatabase(config.database)
const services = createServices(config, { db, secrets: () => secretsOf(config), now: Date.now })
const logger = pino({ level: 'silent' })
const transport = await openTransport(config, () => undefined)
const dispatcher = createMailDispatcher({ db, now: Date.now, tokens: services.tokens, transport, letterhead: () => config, logger })
await services.registration.register(ORIGIN, {
  email: process.env['EMAIL'] ?? '',
  password: 'correct horse',
  firstName: 'Mia',
  lastName: 'Muster',
})
if (config.smtpUrl !== undefined) dispatcher.start()
process.stdout.write('registered\n')
// Keeps the process running until it is killed.
setInterval(() => undefined, 60_000)
