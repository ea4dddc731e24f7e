import { check, choice } from '../../check.ts'
import { expectEqual, expectInvalid, expectStatus } from '../../expect.ts'
import { brokenBodyChecks } from '../common.ts'
import { registration } from './register.checks.ts'

/** Fields that make a registration invalid. */
const INVALID: readonly (readonly [name: string, section: string, title: string, changes: Readonly<Record<string, unknown>>])[] = [
  ['password-empty', '8', 'an empty password', { password: '' }],
  ['email-missing', '4.1', 'no email', { email: undefined }],
  ['password-missing', '4.1', 'no password', { password: undefined }],
  ['first-name-missing', '4.1', 'no first_name', { first_name: undefined }],
  ['last-name-missing', '4.1', 'no last_name', { last_name: undefined }],
  ['email-empty', '2.1', 'an empty email', { email: '' }],
  ['email-null', '7', 'null as email', { email: null }],
  ['password-null', '7', 'null as password', { password: null }],
  ['password-array', '7', 'an array as password', { password: ['long enough'] }],
  ['first-name-object', '7', 'an object as first_name', { first_name: { name: 'Conny' } }],
]

/** Texts that are no e-mail address. Each contains the marker, so that an implementation that accepts one is cleaned up too. */
const INVALID_ADDRESSES: readonly (readonly [name: string, title: string, address: (marker: string) => string])[] = [
  ['email-without-at', 'an email without @', (marker) => `${marker}.example.com`],
  ['email-without-domain', 'an email without a domain', (marker) => `${marker}@`],
  ['email-without-name', 'an email without a name before the @', (marker) => `@${marker}.example.com`],
  ['email-with-spaces', 'an email with spaces inside', (marker) => `${marker} with spaces@example.com`],
  ['email-two-ats', 'an email with two @', (marker) => `${marker}@two@example.com`],
]

export const REGISTER_VALIDATION_CHECKS = [
  check('register.password-7', '8', 'a password of 7 characters is answered with 422', async (context) => {
    const json = registration(context, { password: context.password(7) })
    expectInvalid(await context.call('POST', '/register/', { json }))
  }),
  check('register.password-8', '8', 'a password of 8 characters is accepted', async (context) => {
    const json = registration(context, { password: context.password(8) })
    expectStatus(await context.call('POST', '/register/', { json }), 201)
  }),
  check('register.password-64', '8', 'a password of 64 characters is accepted', async (context) => {
    const json = registration(context, { password: context.password(64) })
    expectStatus(await context.call('POST', '/register/', { json }), 201)
  }),
  ...INVALID.map(([name, section, title, changes]) =>
    check(`register.${name}`, section, `${title} is answered with 422`, async (context) => {
      // The last name has the marker where there is no address.
      const json = registration(context, { last_name: context.marker, ...changes })
      expectInvalid(await context.call('POST', '/register/', { json }))
    }),
  ),
  ...INVALID_ADDRESSES.map(([name, title, address]) =>
    check(`register.${name}`, '2.1', `${title} is answered with 422`, async (context) => {
      const json = registration(context, { email: address(context.marker) })
      expectInvalid(await context.call('POST', '/register/', { json }))
    }),
  ),
  ...brokenBodyChecks('register', 'POST', '/register/'),
  check('register.refused-creates-nothing', '7', 'a registration that is answered with 422 creates no user', async (context) => {
    const { call, operator } = context
    const json = registration(context, { password: context.password(7) })
    await call('POST', '/register/', { json })
    const query = { search_term: String(json['email']), field: 'email' }
    const answer = await call('GET', '/users/search', { as: operator, query })
    expectEqual('total', (answer.json as { total?: unknown } | undefined)?.total, 0, answer)
  }),
  choice('register.password-number', '7', 'a number as password is answered with 422', async (context) => {
    expectInvalid(await context.call('POST', '/register/', { json: registration(context, { password: 1234567890 }) }))
  }),
  choice('register.name-empty', '2.1', 'an empty first_name is answered with 422', async (context) => {
    expectInvalid(await context.call('POST', '/register/', { json: registration(context, { first_name: '' }) }))
  }),
  choice('register.location', '7', 'a validation error names the field: loc is ["body", "password"]', async (context) => {
    const answer = await context.call('POST', '/register/', { json: registration(context, { password: context.password(7) }) })
    const [first] = (answer.json as { detail?: { loc?: unknown }[] } | undefined)?.detail ?? []
    expectEqual('loc', first?.loc, ['body', 'password'], answer)
  }),
]
