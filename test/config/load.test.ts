import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Config, ConfigError, loadConfig, withDotEnv } from '../../src/config/load.ts'
import { generateSecretKey } from '../../src/security/secret-key.ts'
import { TEST_SECRET } from '../support/app/start-app.ts'
import { temporaryFolder } from '../support/databases/databases.ts'

type Good = { readonly name: string; readonly text: string; readonly key: keyof Config; readonly value: unknown }

const POSTGRES = 'postgres://user:hunter22@db.example:5432/accounts'

const FORMER = ['first-former-Zq3vT9xLk2mN8pR5wY7b', 'second-former-C4dF6gH1jS0uZq3vT9xL', 'third-former-k2mN8pR5wY7bC4dF6gH1'] as const

function good(name: string, key: keyof Config, values: Readonly<Record<string, unknown>>): Good[] {
  return Object.entries(values).map(([text, value]) => ({ name, text, key, value }))
}

const BOOLEANS = { true: true, TRUE: true, '1': true, yes: true, On: true, false: false, '0': false, no: false, off: false }
const HTTP_URLS = {
  'https://id.example.com': 'https://id.example.com',
  'https://id.example.com/': 'https://id.example.com',
  'https://id.example.com/auth//': 'https://id.example.com/auth',
  'HTTPS://ID.example.com': 'https://id.example.com',
  'http://localhost:3000': 'http://localhost:3000',
  'http://[::1]:8000': 'http://[::1]:8000',
}

const GOOD: readonly Good[] = [
  ...good('HOST', 'host', { '0.0.0.0': '0.0.0.0', '::': '::', '[::1]': '::1', localhost: 'localhost', 'fe80::1': 'fe80::1', a_b: 'a_b' }),
  ...good('PORT', 'port', { '0': 0, '80': 80, '8000': 8000, '65535': 65_535 }),
  ...good('DATABASE_URL', 'database', {
    'sqlite:data/latchkey.db': { kind: 'sqlite', file: 'data/latchkey.db' },
    'sqlite:/var/lib/latchkey.db': { kind: 'sqlite', file: '/var/lib/latchkey.db' },
    'sqlite:///var/lib/latchkey.db': { kind: 'sqlite', file: '/var/lib/latchkey.db' },
    'sqlite:../with space.db': { kind: 'sqlite', file: '../with space.db' },
    'sqlite:C:\\data\\latchkey.db': { kind: 'sqlite', file: 'C:\\data\\latchkey.db' },
    ...Object.fromEntries(
      [
        POSTGRES,
        'postgresql://db.example/accounts',
        'postgres://user@localhost/accounts',
        'postgres://user:p%40ss@[::1]:5433/accounts',
        'postgres://user:p@ss@db.example/accounts',
        'postgres://user:pass@one:5432,two:5433,[::1]/accounts?target_session_attrs=read-write',
        'postgres://user:pass@one,two/accounts?sslmode=require&target_session_attrs=primary',
        'postgres://user:pass@one,two/accounts?sslmode=verify-full&sslrootcert=/etc/ssl/root.pem',
        'postgres://user:pass@one/accounts?pooler=transaction',
      ].map((url) => [url, { kind: 'postgres', url }]),
    ),
  }),
  ...good('SECRET_KEY', 'secretKey', {
    [TEST_SECRET]: new TextEncoder().encode(TEST_SECRET),
    'Schlüßel zählen in Bytes, nicht': new TextEncoder().encode('Schlüßel zählen in Bytes, nicht'),
    ' spaces at the ends are part of a key ': new TextEncoder().encode(' spaces at the ends are part of a key '),
  }),
  ...good('SECRET_KEY_FALLBACKS', 'secretKeyFallbacks', {
    [FORMER[0]]: [new TextEncoder().encode(FORMER[0])],
    [FORMER.join(',')]: FORMER.map((secret) => new TextEncoder().encode(secret)),
  }),
  ...good('BASE_URL', 'baseUrl', HTTP_URLS),
  ...good('FRONTEND_URL', 'frontendUrl', HTTP_URLS),
  ...good('RETURN_ORIGINS', 'returnOrigins', {
    'https://app.example.com': ['https://app.example.com'],
    ' HTTPS://App.Example.com:443/ , http://localhost:3000': ['https://app.example.com', 'http://localhost:3000'],
  }),
  ...good('API_TITLE', 'apiTitle', { Acme: 'Acme', ' Acme Accounts ': 'Acme Accounts', ['🔑'.repeat(100)]: '🔑'.repeat(100) }),
  ...good('BRAND_COLOR', 'brandColor', { '#1f5eff': '#1f5eff', '#FFD400': '#ffd400' }),
  ...good('BRAND_LOGO', 'brandLogo', { 'brand/logo.svg': 'brand/logo.svg' }),
  ...good('TEMPLATES_DIR', 'templatesDir', { 'brand/mails': 'brand/mails' }),
  ...good('METRICS_ENABLED', 'metricsEnabled', BOOLEANS),
  ...good('CONSOLE_ENABLED', 'consoleEnabled', BOOLEANS),
  ...good('ACCOUNT_PAGES_ENABLED', 'accountPagesEnabled', BOOLEANS),
  ...good('TRUST_PROXY', 'trustProxy', BOOLEANS),
  ...good('CONFIRM_EMAIL_CHANGES', 'confirmEmailChanges', BOOLEANS),
  ...good('SELF_DELETION', 'selfDeletion', BOOLEANS),
  ...good('SECURITY_NOTICES', 'securityNotices', BOOLEANS),
  ...good('RATE_LIMITS', 'rateLimits', {
    off: {},
    OFF: {},
    'login:ip=30/m,login:account=10/m': { 'login:ip': { count: 30, periodMs: 60_000 }, 'login:account': { count: 10, periodMs: 60_000 } },
    ' refresh:ip=100000/s , leaked:ip=1/d ': {
      'refresh:ip': { count: 100_000, periodMs: 1000 },
      'leaked:ip': { count: 1, periodMs: 86_400_000 },
    },
    standard: {
      'login:ip': { count: 60, periodMs: 3_600_000 },
      'login:account': { count: 10, periodMs: 3_600_000 },
      'register:ip': { count: 60, periodMs: 3_600_000 },
      'mail:ip': { count: 60, periodMs: 3_600_000 },
      'mail:account': { count: 5, periodMs: 3_600_000 },
      'reset:ip': { count: 60, periodMs: 3_600_000 },
      'leaked:ip': { count: 60, periodMs: 60_000 },
    },
  }),
  ...good('PASSWORD_BLOCKLIST', 'passwordBlocklist', { none: undefined, common: 'common', 'data/breached.txt': 'data/breached.txt' }),
  ...good('AUDIT_RETENTION_DAYS', 'auditRetentionDays', { 0: 0, 30: 30, 36500: 36500 }),
  ...good('WORKERS', 'workers', { 1: 1, 8: 8, 128: 128 }),
  ...good(
    'SMTP_URL',
    'smtpUrl',
    Object.fromEntries(
      [
        'smtp://localhost',
        'smtp://user:p%40ss@mail.example:587',
        'smtps://mail.example',
        'smtp://[::1]:25/',
        'smtp://h:25?tls=required',
      ].map((url) => [url, url]),
    ),
  ),
  ...good(
    'MAIL_FROM',
    'mailFrom',
    Object.fromEntries(
      ['a@b.io', 'noreply@localhost', 'Acme <a@b.io>', 'Café & Söhne <a+b@mail.b.io>', '"Acme, Inc." <a@b.io>'].map((mailbox) => [
        mailbox,
        mailbox,
      ]),
    ),
  ),
  ...good('CORS_ORIGINS', 'corsOrigins', {
    '*': '*',
    ' * ': '*',
    'https://app.example.com': ['https://app.example.com'],
    'https://App.example.com/, http://localhost:3000': ['https://app.example.com', 'http://localhost:3000'],
    'https://a.io:443,https://a.io': ['https://a.io'],
  }),
  ...['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].flatMap((level) => good('LOG_LEVEL', 'logLevel', { [level]: level })),
  ...good('LOG_LEVEL', 'logLevel', { WARN: 'warn' }),
  ...good('DEV_MAIL_TOKEN', 'devMailToken', { 'a-token-for-tests': 'a-token-for-tests', 'a+b/c=a+b/c=a+b/': 'a+b/c=a+b/c=a+b/' }),
  ...good('KEY_SCOPES', 'keyScopes', { 'reports:read': ['reports:read'], ' a, b ,a': ['a', 'b'] }),
  ...good('KEY_PREFIX', 'keyPrefix', { ab: 'ab', acme2: 'acme2', abcdefghijklmnop: 'abcdefghijklmnop' }),
]

const BAD: Readonly<Record<string, readonly string[]>> = {
  HOST: ['not a host', 'http://127.0.0.1', '127.0.0.1:8000', '[localhost]', '[::1', ':::', 'a/b', '-a'],
  PORT: ['65536', '-1', '80.5', '0x50', '1e3', ' 80', 'http', '123456'],
  DATABASE_READ_URL: ['sqlite:replica.db', 'postgres://user:hunter22@host', 'replica', 'postgres://user:hunter22@host/db?ssl=true'],
  DATABASE_URL: [
    'mysql://user:hunter22@host/db',
    'sqlite:',
    'sqlite::memory:',
    'sqlite:folder/',
    'sqlite://relative.db',
    'sqlite:file.db?mode=ro',
    'file.db',
    'postgres://user:hunter22@host',
    'postgres://user:hunter22@host/',
    'postgres:///accounts',
    'postgres://user:hunter22@host:99999/accounts',
    'postgres://user:hunter22@one,,two/accounts',
    'postgres://user:hunter22%zz@host/accounts',
    'postgres://user:hunter22/@host/accounts',
    'postgres://user:hunter22#@host/accounts',
    'postgres://user:hunter22@host/accounts?target_session_attrs=standby',
    'postgres://user:hunter22@host/accounts?sslmode=on',
    'postgres://user:hunter22@host/accounts?pooler=session',
    'postgres://user:hunter22@host/accounts?pooler=',
    'postgres://user:hunter22@host/accounts?sslmode=verify-fuII',
    'postgres://user:hunter22@host/accounts?sslmode=verify-ca',
    'postgres://user:hunter22@host/accounts?sslmode=verify-ca&sslrootcert=system',
    'postgres://user:hunter22@host/accounts?sslmode=require&sslrootcert=system',
    'postgres://user:hunter22@host/accounts?sslmode=',
    'postgres://user:hunter22@host/accounts?ssl=true',
    'postgres://user:hunter22@host/accounts?sslmode=prefer&sslrootcert=/etc/ssl/root.pem',
    'postgres://user:hunter22@ho st/accounts',
  ],
  AUDIT_RETENTION_DAYS: ['-1', '36501', '1.5', 'never', '1e1', ' 2', '365d'],
  WORKERS: ['0', '129', '-1', '1.5', 'all', '1e1', ' 2'],
  SECRET_KEY: [
    'hunter22',
    'x'.repeat(64),
    'hunter22'.repeat(8),
    'abcd1234'.repeat(4),
    'change-me-change-me-change-me-change-me',
    'your-256-bit-secret-your-256-bit-secret!',
    'a-string-secret-at-least-256-bits-long',
    'super-secret-jwt-token-with-at-least-32-characters-long',
    'django-insecure-w#8hk2v!x9q@z1m4n7b5c3',
    '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
    '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970',
  ],
  SECRET_KEY_FALLBACKS: [
    'hunter22',
    'hunter22'.repeat(8),
    'change-me-change-me-change-me-change-me',
    TEST_SECRET,
    `${FORMER[0]},${FORMER[0]}`,
    `${FORMER[0]},`,
    `${FORMER[0]}, ${FORMER[1]}`,
    `${FORMER.join(',')},${FORMER[0]}4`,
  ],
  BASE_URL: [
    'id.example.com',
    'ftp://id.example.com',
    'http:id.example.com',
    'http:\\\\id.example.com',
    'https://',
    'https://user:hunter22@id.example.com',
    'https://id.example.com/?a=b',
    'https://id.example.com/#a',
    'https://id.example.com/ a',
    'javascript:alert(1)',
  ],
  RETURN_ORIGINS: [
    '*',
    'https://app.example.com/in',
    'https://user@app.example.com',
    'app.example.com',
    'https://a.io,',
    'https://*.example.com',
  ],
  FRONTEND_URL: ['//evil.example', 'javascript:alert(1)', 'https://app.example.com?code=', 'app'],
  API_TITLE: [' ', 'a\nb', 'a'.repeat(101)],
  BRAND_COLOR: ['red', '1f5eff', '#fff', '#1f5eff80', '#12345g', ' #1f5eff', '#1f5eff;}', 'rgb(0,0,0)'],
  BRAND_LOGO: ['a\nb'],
  TEMPLATES_DIR: ['a\nb'],
  METRICS_ENABLED: ['maybe', '2', ' true'],
  CONSOLE_ENABLED: ['maybe', '2', ' true'],
  ACCOUNT_PAGES_ENABLED: ['maybe', '2', ' true'],
  SMTP_URL: [
    'mail.example:587',
    'http://user:hunter22@mail.example',
    'smtp://',
    'smtp://user:hunter22@',
    'smtp://user:hunter22%zz@mail.example',
    'smtp://user:hunter22@mail.example:99999',
    'smtp://user:hunter22@mail.example/path',
    'smtp://user:hunter22 @mail.example',
    'smtp://:hunter22@mail.example',
    'smtp://user:12?hunter22=1@mail.example',
    'smtp://user:hunter22@mail.example?requireTLS=true',
    'smtp://user:hunter22@mail.example?tls=none&secure=true',
    'smtp://user:hunter22@mail.example?tls=maybe',
    'smtp://user:hunter22@mail.example?tls=none&tls=required',
    'smtps://user:hunter22@mail.example?tls=none',
  ],
  MAIL_FROM: [
    'Acme',
    'Acme <a>',
    'a@b.io, c@d.io',
    'Acme, Inc. <a@b.io>',
    'Acme <a@b.io> <c@d.io>',
    'Acme\r\nBcc: c@d.io <a@b.io>',
    'a b@c.io',
  ],
  DEV_MAIL_TOKEN: [
    'a',
    'kX2vT9qLm4nR8pZ',
    'a token for tests',
    ' a-token-for-tests',
    'a-tökén-for-tests',
    'a-token\nfor-tests',
    'x'.repeat(201),
  ],
  CORS_ORIGINS: [
    'app.example.com',
    'https://app.example.com/path',
    'https://a.io,*',
    'https://a.io,',
    'null',
    'https://*.a.io',
    'https://u:p@a.io',
  ],
  TRUST_PROXY: ['maybe', '10.0.0.1'],
  CONFIRM_EMAIL_CHANGES: ['maybe', '2'],
  SELF_DELETION: ['maybe', '2'],
  SECURITY_NOTICES: ['maybe', '2'],
  PASSWORD_BLOCKLIST: ['a\nb'],
  RATE_LIMITS: [
    'on',
    'strict',
    'login:ip',
    'login:ip=',
    'login:ip=0/m',
    'login:ip=-1/m',
    'login:ip=30/w',
    'login:ip=30',
    'login:ip=1.5/m',
    'login:ip=100001/s',
    'login=30/m',
    'login:user=30/m',
    'login:ip=30/m,',
    'login:ip=30/m,login:ip=40/m',
  ],
  LOG_LEVEL: ['verbose', 'warning'],
  KEY_SCOPES: ['a,,b', 'a b', ',', 'é', '"a"', 'x'.repeat(101), Array.from({ length: 51 }, (_, n) => `s${n}`).join(',')],
  KEY_PREFIX: ['a', 'abcdefghijklmnopq', 'LK', 'l_k', 'l k', 'lk-', 'ké'],
}

test('LANGUAGES has known names, each once', () => {
  assert.deepEqual(loadConfig({ LANGUAGES: ' DE, fr ' }).languages, ['de', 'fr'])
  for (const text of ['it', 'de,,fr', 'de,de', 'de fr', 'en-GB', ','])
    assert.throws(
      () => loadConfig({ LANGUAGES: text }),
      (error) =>
        error instanceof ConfigError && error.errors.every((line) => line.startsWith('LANGUAGES: should be some of en, de, fr, es')),
      text,
    )
})

test('an empty environment results in the defaults', () => {
  assert.deepEqual(loadConfig({}), {
    host: '127.0.0.1',
    port: 8000,
    database: { kind: 'sqlite', file: 'data/latchkey.db' },
    secretKey: undefined,
    secretKeyFallbacks: [],
    baseUrl: 'http://localhost:8000',
    frontendUrl: undefined,
    returnOrigins: undefined,
    apiTitle: 'Latchkey',
    brandColor: undefined,
    brandLogo: undefined,
    languages: ['en', 'de', 'fr', 'es'],
    templatesDir: undefined,
    metricsEnabled: false,
    consoleEnabled: true,
    accountPagesEnabled: true,
    smtpUrl: undefined,
    mailFrom: 'Latchkey <noreply@localhost>',
    devMailToken: undefined,
    admin: undefined,
    corsOrigins: '*',
    trustProxy: false,
    rateLimits: {},
    passwordBlocklist: undefined,
    plans: undefined,
    confirmEmailChanges: false,
    emailSignIn: false,
    selfDeletion: false,
    providers: [],
    relyingParty: { id: 'localhost', name: 'Latchkey', origins: ['http://localhost:8000'] },
    secondFactor: 'optional',
    securityNotices: false,
    webhook: undefined,
    logLevel: 'info',
    keyPrefix: 'lk',
    keyScopes: undefined,
    auditRetentionDays: 365,
    workers: 1,
  })
})

test('BASE_URL follows PORT, and an empty value counts as not set', () => {
  assert.equal(loadConfig({ PORT: '9000' }).baseUrl, 'http://localhost:9000')
  assert.deepEqual(loadConfig({ PORT: '', BASE_URL: '', SMTP_URL: '', ADMIN_EMAIL: '' }), loadConfig({}))
})

for (const { name, text, key, value } of GOOD) {
  test(`${name} may be ${JSON.stringify(text)}`, () => {
    assert.deepEqual(loadConfig({ SECRET_KEY: TEST_SECRET, [name]: text })[key], value)
  })
}

for (const [name, texts] of Object.entries(BAD)) {
  for (const text of texts) {
    test(`${name} may not be ${JSON.stringify(text)}, and the error is one line that names it`, () => {
      const errors = errorsOf({ SECRET_KEY: TEST_SECRET, [name]: text })
      assert.equal(errors.length, 1)
      assert.match(errors[0] ?? '', new RegExp(`^${name}: (secret \\d of \\d )?(should be|is) .{10,}$`))
    })
  }
}

test('an admin needs an address and a password that registration accepts', () => {
  const admin = { ADMIN_EMAIL: 'root@Example.com', ADMIN_PASSWORD: 'correct horse' }
  assert.deepEqual(loadConfig(admin).admin, { email: 'root@example.com', password: 'correct horse' })
  assert.deepEqual(errorsOf({ ...admin, ADMIN_EMAIL: 'root' }), ['ADMIN_EMAIL: should be an e-mail address, is "root"'])
  assert.deepEqual(errorsOf({ ...admin, ADMIN_PASSWORD: 'short' }), ['ADMIN_PASSWORD: should be 8 to 256 characters, has 5'])
  assert.deepEqual(errorsOf({ ...admin, ADMIN_PASSWORD: 'x'.repeat(257) }), ['ADMIN_PASSWORD: should be 8 to 256 characters, has 257'])
  assert.deepEqual(errorsOf({ ADMIN_EMAIL: admin.ADMIN_EMAIL }), ['ADMIN_PASSWORD: is required with ADMIN_EMAIL'])
  assert.deepEqual(errorsOf({ ADMIN_PASSWORD: admin.ADMIN_PASSWORD }), ['ADMIN_EMAIL: is required with ADMIN_PASSWORD'])
})

test('SECRET_KEY is required with PostgreSQL, because several machines may serve', () => {
  assert.deepEqual(errorsOf({ DATABASE_URL: POSTGRES }), [
    'SECRET_KEY: is required with PostgreSQL; create one with `npm run latchkey -- secret generate`',
  ])
})

test('a replica needs PostgreSQL', () => {
  const env = { SECRET_KEY: TEST_SECRET, DATABASE_READ_URL: 'postgres://reader@replica/accounts' }
  assert.deepEqual(errorsOf(env), ['DATABASE_READ_URL: a replica needs PostgreSQL in DATABASE_URL'])
  const { database } = loadConfig({ ...env, DATABASE_URL: POSTGRES })
  assert.deepEqual(database, { kind: 'postgres', url: POSTGRES, replicaUrl: env.DATABASE_READ_URL })
})

test('each fallback that cannot be used is one line, without its value', () => {
  const weak = 'change-me-change-me-change-me-change-me'
  assert.deepEqual(errorsOf({ SECRET_KEY: TEST_SECRET, SECRET_KEY_FALLBACKS: `hunter22,${weak},${TEST_SECRET}` }), [
    'SECRET_KEY_FALLBACKS: secret 1 of 3 should be at least 32 bytes, has 8',
    'SECRET_KEY_FALLBACKS: secret 2 of 3 is a sample or can be guessed',
    'SECRET_KEY_FALLBACKS: secret 3 of 3 is the same as SECRET_KEY; list former secrets only',
  ])
  assert.deepEqual(errorsOf({ SECRET_KEY: TEST_SECRET, SECRET_KEY_FALLBACKS: `${FORMER[0]},${FORMER[0]}, ${FORMER[1]}` }), [
    'SECRET_KEY_FALLBACKS: secret 2 of 3 is listed twice',
    'SECRET_KEY_FALLBACKS: secret 3 of 3 should be without spaces around it; separate secrets by a comma alone',
  ])
  assert.deepEqual(errorsOf({ SECRET_KEY: TEST_SECRET, SECRET_KEY_FALLBACKS: [...FORMER, weak].join(',') }), [
    'SECRET_KEY_FALLBACKS: should be at most 3 secrets, separated by commas, has 4',
  ])
})

test('fallbacks without SECRET_KEY are refused, because they would be ignored', () => {
  assert.deepEqual(errorsOf({ SECRET_KEY_FALLBACKS: FORMER[0] }), [
    'SECRET_KEY_FALLBACKS: is only used together with SECRET_KEY, which is not set',
  ])
})

test('a generated secret is always accepted', () => {
  for (let round = 0; round < 100; round++) loadConfig({ SECRET_KEY: generateSecretKey() })
})

test('every bad entry of RATE_LIMITS is one line', () => {
  assert.deepEqual(
    errorsOf({ RATE_LIMITS: 'login:ip=30/m,nobody:ip=1/s,mail:ip=many' }).map(
      (error) => /^RATE_LIMITS: .*"(.*)" is none$/.exec(error)?.[1],
    ),
    ['nobody:ip', 'mail:ip=many'],
  )
})

test('all errors are reported together', () => {
  const everyOneBad = Object.fromEntries(Object.entries(BAD).map(([name, [text]]) => [name, text]))
  const errors = errorsOf({ ...everyOneBad, ADMIN_EMAIL: 'root', ADMIN_PASSWORD: 'short' })
  assert.deepEqual(
    errors.map((error) => error.slice(0, error.indexOf(':'))).sort(),
    [...Object.keys(BAD), 'ADMIN_EMAIL', 'ADMIN_PASSWORD'].sort(),
  )
})

test('the error for an unknown parameter of SMTP_URL names it and the one that exists', () => {
  assert.deepEqual(errorsOf({ SMTP_URL: 'smtp://user:hunter22@mail.example?requireTLS=true' }), [
    'SMTP_URL: should be without parameters other than ?tls=required or ?tls=none, has "requireTLS"',
  ])
  assert.deepEqual(errorsOf({ SMTP_URL: 'smtp://mail.example?tls=never' }), [
    'SMTP_URL: should be without parameters other than ?tls=required or ?tls=none',
  ])
})

test('no error repeats a password or a secret', () => {
  for (const name of ['DATABASE_URL', 'DATABASE_READ_URL', 'SECRET_KEY', 'SECRET_KEY_FALLBACKS', 'SMTP_URL', 'BASE_URL']) {
    for (const text of BAD[name] ?? []) {
      assert.doesNotMatch(errorsOf({ SECRET_KEY: TEST_SECRET, [name]: text }).join('\n'), /hunter22/)
    }
  }
  assert.doesNotMatch(errorsOf({ ADMIN_EMAIL: 'a@b.io', ADMIN_PASSWORD: 'hunter2' }).join('\n'), /hunter2/)
})

test('the settings cannot be changed after they were read', () => {
  const config = loadConfig({ CORS_ORIGINS: 'https://a.io', ADMIN_EMAIL: 'a@b.io', ADMIN_PASSWORD: 'correct horse' })
  for (const part of [config, config.database, config.admin, config.corsOrigins]) assert.ok(Object.isFrozen(part))
})

test('a .env file is read, and the environment takes precedence', (t) => {
  const file = join(temporaryFolder(t), '.env')
  writeFileSync(file, '# comment\nPORT=9000\nAPI_TITLE="From file"\nHOST=\n')
  const config = loadConfig(withDotEnv({ PORT: '9001' }, file))
  assert.deepEqual([config.port, config.apiTitle, config.host], [9001, 'From file', '127.0.0.1'])
})

test('a missing .env file is not an error, but an unreadable one is', (t) => {
  const folder = temporaryFolder(t)
  assert.deepEqual(withDotEnv({ PORT: '1' }, join(folder, 'none')), { PORT: '1' })
  mkdirSync(join(folder, '.env'))
  assert.throws(() => withDotEnv({}, join(folder, '.env')), { name: 'ConfigError', message: /\.env: cannot be read \(EISDIR\)$/ })
})

function errorsOf(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
  throw new assert.AssertionError({ message: `no error was found in ${JSON.stringify(env)}` })
}

const ACME = {
  SIGN_IN_PROVIDERS: 'google,acme',
  PROVIDER_GOOGLE_CLIENT_ID: 'id',
  PROVIDER_GOOGLE_CLIENT_SECRET: 'secret',
  PROVIDER_ACME_CLIENT_ID: 'id',
  PROVIDER_ACME_CLIENT_SECRET: 'secret',
  PROVIDER_ACME_ISSUER: 'https://login.acme.example',
  PROVIDER_ACME_LABEL: 'Acme',
}

test('providers have their own settings; one that is missing, wrong or unknown stops the start, and no message has a secret', () => {
  const [google, acme] = loadConfig(ACME).providers
  assert.deepEqual([google?.issuer, google?.label], ['https://accounts.google.com', 'Google'])
  assert.deepEqual([acme?.kind, acme?.issuer, acme?.label], ['oidc', 'https://login.acme.example', 'Acme'])
  const errorsOf = (env: Readonly<Record<string, string>>) => {
    try {
      loadConfig({ ...ACME, ...env })
    } catch (error) {
      return error instanceof ConfigError ? error.errors : []
    }
    return []
  }
  const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ PROVIDER_ACME_CLIENT_ID: '' }, /^PROVIDER_ACME_CLIENT_ID: is required with acme in SIGN_IN_PROVIDERS$/],
    [{ PROVIDER_ACME_ISSUER: '' }, /^PROVIDER_ACME_ISSUER: is required/],
    [{ PROVIDER_ACME_LABEL: '' }, /^PROVIDER_ACME_LABEL: is required/],
    [{ PROVIDER_ACME_CLIENT_SECRET: 'hidden secret' }, /^PROVIDER_ACME_CLIENT_SECRET: should be 1 to 2000 visible/],
    [{ PROVIDER_ACME_ISSUER: 'http://login.acme.example' }, /^PROVIDER_ACME_ISSUER: should be an https:\/\/ URL/],
    [{ PROVIDER_ACME_SCOPE: 'x' }, /^PROVIDER_ACME_SCOPE: is unknown/],
    [{ PROVIDER_GITHUB_CLIENT_ID: 'x' }, /^PROVIDER_GITHUB_CLIENT_ID: is only used together with github/],
    [{ ACCOUNT_PAGES_ENABLED: 'false' }, /^SIGN_IN_PROVIDERS: needs the account pages/],
  ]
  for (const [env, message] of wrong) {
    const errors = errorsOf(env)
    assert.equal(errors.length, 1, errors.join())
    assert.match(errors[0] ?? '', message)
    assert.ok(!errors.join().includes('hidden secret'))
  }
  for (const names of ['Google', 'a,a', 'password', 'a b', '1x'])
    assert.match(errorsOf({ SIGN_IN_PROVIDERS: names })[0] ?? '', /^SIGN_IN_PROVIDERS: /)
  assert.deepEqual(errorsOf({ PROVIDER_ACME_ISSUER: 'http://127.0.0.1:9000' }), [])
})
