import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type RegistrationResponseJSON, verifyRegistrationResponse } from '@simplewebauthn/server'
import { member } from '../../../support/app/actors.ts'
import { refused } from '../../../support/app/assertions.ts'
import { type Attest, cborBytes, cborInt, cborList, cborText, createAuthenticator } from '../../../support/app/authenticator.ts'
import { caller } from '../../../support/app/second-factor.ts'
import { startApp } from '../../../support/app/start-app.ts'
import { temporaryFolder, test } from '../../../support/databases/databases.ts'
import { serve } from '../../../support/servers/listen.ts'

const PARTY = { origin: 'https://id.example.com', rpId: 'id.example.com' }
const SUBJECT = '/C=DE/O=Example/OU=Authenticator Attestation/CN=Example'
const KEY_DESCRIPTION = '1.3.6.1.4.1.11129.2.1.17'

/** Certificates that name addresses: where revoked ones are listed, where to ask about one, and where its issuer is. */
function makeChain(t: TestContext, url: string, leafKey: KeyObject, extensions: readonly string[] = []): readonly Buffer[] {
  const folder = temporaryFolder(t)
  const file = (name: string) => join(folder, name)
  writeFileSync(file('leaf.key'), leafKey.export({ type: 'pkcs8', format: 'pem' }))
  const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file('root.key'))
  openssl('req', '-x509', '-days', '2', '-key', file('root.key'), '-out', file('root.pem'), '-subj', '/CN=Root')
  openssl('req', '-new', '-key', file('leaf.key'), '-out', file('leaf.csr'), '-subj', SUBJECT)
  const named = [
    'basicConstraints=CA:FALSE',
    `crlDistributionPoints=URI:${url}/revoked`,
    `authorityInfoAccess=OCSP;URI:${url}/ocsp,caIssuers;URI:${url}/issuer`,
    ...extensions,
  ]
  writeFileSync(file('leaf.cnf'), named.join('\n'))
  const issuer = ['-CA', file('root.pem'), '-CAkey', file('root.key'), '-CAcreateserial']
  openssl('x509', '-req', '-days', '2', '-in', file('leaf.csr'), ...issuer, '-extfile', file('leaf.cnf'), '-out', file('leaf.pem'))
  return ['leaf.pem', 'root.pem'].map((name) => new X509Certificate(readFileSync(file(name))).raw)
}

/** What Android writes about a key, for one challenge (ASN.1). */
function keyDescription(clientHash: Buffer): string {
  const hash = clientHash.toString('hex')
  return `${KEY_DESCRIPTION}=DER:30340201030a01010201030a01010420${hash}04003000 3000`.replace(' ', '')
}

type Certificates = (extensions?: readonly string[]) => readonly Buffer[]
type Statement = ReturnType<Attest>['statement']
type Entry = Statement[number]

const entry = (name: string, value: Buffer): Entry => [cborText(name), value]
const x5c = (chain: readonly Buffer[]): Entry => entry('x5c', cborList(chain.map(cborBytes)))
const ES256 = entry('alg', cborInt(-7))

/** Attestations of every format that is not accepted. Those that need no genuine hardware are right in every respect. */
function foreign(privateKey: KeyObject, certificates: Certificates): Readonly<Record<string, Attest>> {
  const signed = (...parts: readonly Buffer[]): Entry => entry('sig', cborBytes(sign('sha256', Buffer.concat(parts), privateKey)))
  const [leaf = Buffer.alloc(0)] = certificates()
  return {
    'packed with x5c': ({ data, clientHash }) => ({
      format: 'packed',
      statement: [ES256, signed(data, clientHash), x5c(certificates())],
    }),
    'packed with an empty x5c': ({ data, clientHash }) => ({ format: 'packed', statement: [ES256, signed(data, clientHash), x5c([])] }),
    'fido-u2f': ({ forU2f }) => ({ format: 'fido-u2f', statement: [signed(forU2f), x5c([leaf])] }),
    'android-key': ({ data, clientHash }) => ({
      format: 'android-key',
      statement: [ES256, signed(data, clientHash), x5c(certificates([keyDescription(clientHash)]))],
    }),
    'android-safetynet': () => ({ format: 'android-safetynet', statement: [entry('ver', cborText('1')), safetyNet(certificates())] }),
    apple: () => ({ format: 'apple', statement: [x5c(certificates())] }),
    tpm: ({ data, clientHash }) => ({
      format: 'tpm',
      statement: [
        entry('ver', cborText('2.0')),
        ES256,
        signed(data, clientHash),
        x5c(certificates()),
        entry('certInfo', cborBytes(randomBytes(80))),
        entry('pubArea', cborBytes(randomBytes(80))),
      ],
    }),
    'none with x5c': () => ({ format: 'none', statement: [x5c(certificates())] }),
    'a format that nobody knows': () => ({ format: 'unknown', statement: [x5c(certificates())] }),
  }
}

function safetyNet(chain: readonly Buffer[]): Entry {
  const json = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = json({ alg: 'ES256', x5c: chain.map((certificate) => certificate.toString('base64')) })
  return entry('response', cborBytes(Buffer.from(`${header}.${json({ nonce: '', ctsProfileMatch: true })}.AAAA`)))
}

test('400: an attestation that somebody else vouches for is not accepted, and no address in it is fetched', async (t) => {
  const asked: string[] = []
  const listener = await serve(t, (request, response) => {
    asked.push(request.url ?? '')
    response.end()
  })
  const service = await startApp(t, { env: { BASE_URL: PARTY.origin } })
  const call = caller(service, await member(service))
  const add = async (authenticator: ReturnType<typeof createAuthenticator>, attest?: Attest) => {
    const options = (await call('POST', '/users/me/passkeys/options')).json()
    const credential = authenticator.create(options, attest)
    return { options, credential, response: await call('POST', '/users/me/passkeys', { name: 'My phone', credential }) }
  }
  const authenticator = createAuthenticator(PARTY)
  const { privateKey } = authenticator
  const certificates: Certificates = (extensions) => makeChain(t, listener.url, privateKey, extensions)
  for (const [name, attest] of Object.entries(foreign(privateKey, certificates)))
    await t.test(name, async () => refused((await add(authenticator, attest)).response, 400, 'Invalid passkey'))
  assert.deepEqual(asked, [])
  assert.deepEqual((await call('GET', '/users/me/passkeys')).json(), [])

  const itself: Attest = ({ data, clientHash }) => ({
    format: 'packed',
    statement: [ES256, entry('sig', cborBytes(sign('sha256', Buffer.concat([data, clientHash]), privateKey)))],
  })
  const wrong: Attest = () => ({ format: 'packed', statement: [ES256, entry('sig', cborBytes(randomBytes(70)))] })
  refused((await add(authenticator, wrong)).response, 400, 'Invalid passkey')
  assert.equal((await add(authenticator, itself)).response.statusCode, 201)
  assert.equal((await add(createAuthenticator(PARTY))).response.statusCode, 201)

  // Control: the library alone fetches what these certificates name, and accepts what they vouch for.
  const verify = async (attest: Attest | undefined) => {
    const { options, credential } = await add(authenticator, attest)
    const response = credential as unknown as RegistrationResponseJSON
    const expected = { expectedChallenge: options.challenge, expectedOrigin: PARTY.origin, expectedRPID: PARTY.rpId }
    return verifyRegistrationResponse({ response, ...expected }).catch(({ message }: Error) => ({ verified: message }))
  }
  const { 'android-key': android, 'packed with x5c': packed, 'fido-u2f': u2f } = foreign(privateKey, certificates)
  for (const attest of [packed, u2f]) assert.equal((await verify(attest)).verified, true)
  const { verified } = await verify(android)
  assert.deepEqual(asked, ['/revoked'], String(verified))
})
