import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isIssuerOf } from '../../../src/model/provider.ts'

const MICROSOFT = 'https://login.microsoftonline.com'
const [TENANT, OTHER] = ['72f988bf-86f1-41af-91ab-2d7cd011db47', '9188040d-6c67-4c5b-b112-36a304b66dad']

test('an identity belongs to a provider with its issuer', () => {
  const cases: readonly (readonly [configured: string, issuer: string, expected: boolean])[] = [
    ['https://accounts.google.com', 'https://accounts.google.com', true],
    ['https://Login.acme.example/', 'https://login.acme.example', true],
    ['https://login.acme.example/realms/a/.well-known/openid-configuration', 'https://login.acme.example/realms/a', true],
    ['https://login.acme.example', 'https://former.acme.example', false],
    ['https://login.acme.example', 'http://login.acme.example', false],
    ['https://login.acme.example/realms/a', 'https://login.acme.example/realms/b', false],
    ['https://login.acme.example', 'not a URL', false],
    [`${MICROSOFT}/common/v2.0`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/contoso.example/v2.0`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/${TENANT}/v2.0`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/${TENANT}/v2.0`, `${MICROSOFT}/${OTHER}/v2.0`, false],
    [`${MICROSOFT}/common/v2.0`, `https://login.acme.example/${TENANT}/v2.0`, false],
    ['https://acme.b2clogin.com/acme.onmicrosoft.com/policy/v2.0', `https://acme.b2clogin.com/${TENANT}/v2.0/`, true],
    ['https://login.acme.example/common/v2.0', `https://login.acme.example/${TENANT}/v2.0`, false],
  ]
  for (const [configured, issuer, expected] of cases) assert.equal(isIssuerOf(configured, issuer), expected, `${configured} ${issuer}`)
})
