import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { statement } from '../../../src/storage/database.ts'
import { admin, member } from '../../support/app/actors.ts'
import { eventually } from '../../support/app/eventually.ts'
import { startApp } from '../../support/app/start-app.ts'
import { insertUsers, numberedUsers } from '../../support/databases/users.ts'
import { OPERATOR } from '../../support/http/origins.ts'

// More than the buffers of a connection hold, so that the service has to wait for its reader.
const CROWD = numberedUsers(14_000).map((person) => ({ ...person, firstName: '𝄞'.repeat(100), lastName: '𝄞'.repeat(100) }))

const READER = statement<{ id: number }>(`select id from users where role = 'admin'`)

/** A client that has requested the list of many users and has read its beginning. */
async function startedList(t: TestContext) {
  const testApp = await startApp(t, { database: 'sqlite' })
  await insertUsers(testApp, CROWD)
  const { headers } = await admin(testApp)
  let pages = 0
  const { all } = testApp.db.lists
  // Counts the pages that are read.
  testApp.db.lists.all = (statement, ...values) => {
    pages++
    return all(statement, ...values)
  }
  const url = await testApp.app.listen({ port: 0, host: '127.0.0.1' })
  const connected = once(testApp.app.server, 'connection')
  const request = get(`${url}/users/`, { headers })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  // Observed from the beginning, because the connection may be closed at any moment.
  const ended = once(response, 'end')
  ended.catch(() => undefined)
  response.on('error', () => undefined)
  await once(response, 'readable')
  const [socket] = (await connected) as [Socket]
  await eventually('a service that waits for its reader', async () => socket.writableNeedDrain || undefined)
  return { testApp, response, ended, readPages: () => pages }
}

test('a list that fails half-way closes the connection, so that no client mistakes it for the whole list', async (t) => {
  const { testApp, response, ended } = await startedList(t)
  await testApp.db.close()
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await assert.rejects(ended, { code: 'ECONNRESET' })
  assert.equal(response.complete, false)
  assert.throws(() => JSON.parse(text))
})

test('if an admin is banned while reading a list, the connection is closed', async (t) => {
  const { testApp, response, ended } = await startedList(t)
  const [{ id: readerId } = assert.fail()] = await testApp.db.all(READER)
  await admin(testApp)
  await testApp.services.userAdministration.ban(OPERATOR, readerId)
  await member(testApp, { email: 'registered-later@example.com' })
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  await assert.rejects(ended, { code: 'ECONNRESET' })
  assert.throws(() => JSON.parse(text))
  assert.doesNotMatch(text, /registered-later/)
})

test('a list is not read further after its client has disconnected', async (t) => {
  const { testApp, response, readPages } = await startedList(t)
  const pages = readPages()
  assert.ok(pages < CROWD.length / 250, 'the whole list was read before the client received it')
  response.destroy()
  await eventually('the end of the connection', async () => {
    const connections = await new Promise<number>((resolve) => testApp.app.server.getConnections((_, count) => resolve(count)))
    return connections === 0 || undefined
  })
  assert.ok(readPages() <= pages + 1)
})

test('lists do not block the event loop: together they read one page in each turn', async (t) => {
  const testApp = await startApp(t, { database: 'sqlite' })
  await insertUsers(testApp, numberedUsers(3000))
  const { headers } = await admin(testApp)
  const lists = 5
  let pagesInTurn = 0
  let pages = 0
  const { all } = testApp.db.lists
  testApp.db.lists.all = (statement, ...values) => {
    pagesInTurn++
    pages++
    return all(statement, ...values)
  }
  let isDone = false
  const answers = Promise.all(Array.from({ length: lists }, () => testApp.app.inject({ url: '/users/', headers }))).finally(() => {
    isDone = true
  })
  let most = 0
  while (!isDone) {
    pagesInTurn = 0
    await nextTurn()
    most = Math.max(most, pagesInTurn)
  }
  assert.deepEqual(
    (await answers).map((answer) => answer.json<unknown[]>().length),
    Array.from({ length: lists }, () => 3001),
  )
  assert.ok(pages > 10 * lists, `${pages} pages were read`)
  // The first pages do not wait, so all of them may be read in one turn.
  assert.ok(most <= lists, `${most} pages were read in one turn`)
})
