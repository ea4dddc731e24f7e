import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { member } from '../../../support/app/actors.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { temporaryFolder, test } from '../../../support/databases/databases.ts'
import { login, postForm, register, resetPassword } from '../../../support/http/requests.ts'

const LISTED = 'listed password'
const MESSAGE = 'This password is on a list of breached passwords'

test('422: a listed password cannot be registered, reset, edited or changed', async (t) => {
  const file = join(temporaryFolder(t), 'list.txt')
  writeFileSync(file, `${LISTED}\n`)
  const service = await startApp(t, { env: { PASSWORD_BLOCKLIST: file } })
  const mia = await member(service)
  const code = service.services.tokens.forMail('reset', mia.id, mia.resetVersion)
  const { headers } = mia
  const requests = [
    ['password', register({ password: LISTED })],
    ['new_password', resetPassword({ code, new_password: LISTED })],
    ['password', { method: 'PUT', url: `/users/${mia.id}`, headers, payload: { password: LISTED } }],
    ['password', { method: 'POST', url: `/users/${mia.id}/password`, headers, payload: { password: LISTED } }],
  ] as const
  for (const [field, request] of requests) {
    const response = await service.app.inject(request)
    assert.equal(response.statusCode, 422, response.body)
    assert.deepEqual(response.json(), { detail: [{ loc: ['body', field], msg: MESSAGE, type: 'value_error' }] })
  }
  const form = await service.app.inject(postForm('/reset-password/', { code, new_password: LISTED }))
  assert.deepEqual([form.statusCode, form.body.includes(MESSAGE)], [422, true])
  // The old password still works, the code is not used up, and other passwords are accepted.
  assert.equal((await service.app.inject(login({ email: mia.email, password: mia.password }))).statusCode, 200)
  assert.equal((await service.app.inject(resetPassword({ code }))).statusCode, 200)
  assert.equal((await service.app.inject(register())).statusCode, 201)
})

test('200: an account that has a listed password logs in', async (t) => {
  const file = join(temporaryFolder(t), 'list.txt')
  writeFileSync(file, `${LISTED}\n`)
  const service = await startApp(t, { env: { PASSWORD_BLOCKLIST: file } })
  const { email, password } = await member(service, { password: LISTED })
  assert.equal((await service.app.inject(login({ email, password }))).statusCode, 200)
})
