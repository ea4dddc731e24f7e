// better-auth as its documentation sets it up: e-mail and password, API keys, its tables in SQLite, its handler for Node.
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { apiKey } from '@better-auth/api-key'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'

const database = new DatabaseSync(process.argv[2])
database.exec('pragma journal_mode = wal')
// The handler is asked for a session at the address that the settings name, so that the server comes first.
const server = createServer()
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const baseURL = `http://127.0.0.1:${server.address().port}`

const options = {
  baseURL,
  secret: 'a secret for the benchmark alone, which is long enough',
  database,
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
  logger: { level: 'error' },
  // Counting requests is left to others on both sides.
  rateLimit: { enabled: false },
  plugins: [apiKey({ rateLimit: { enabled: false } })],
}
const { runMigrations } = await getMigrations(options)
await runMigrations()
const auth = betterAuth(options)

const { headers, response } = await auth.api.signUpEmail({
  body: { email: 'mia@example.com', password: 'correct horse', name: 'Mia Muster' },
  returnHeaders: true,
})
const cookie = headers
  .getSetCookie()
  .map((line) => line.split(';')[0])
  .join('; ')
const { key } = await auth.api.createApiKey({ body: { name: 'bench', userId: response.user.id } })

const handle = toNodeHandler(auth)
// A key is verified by a call of the library: the route is what its user would write.
server.on('request', async (request, reply) => {
  if (request.url !== '/verify') return handle(request, reply)
  const { valid } = await auth.api.verifyApiKey({ body: { key: request.headers['x-api-key'] } })
  reply.writeHead(valid ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify({ valid }))
})
process.stdout.write(`listens on ${baseURL} with ${key} and ${cookie}\n`)
