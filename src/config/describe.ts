import type { Config } from './load.ts'

/** A setting for people who may see that it is set, but never the value of a secret. */
export type DescribedSetting = {
  readonly name: string
  readonly value: string | undefined
  readonly isSecret: boolean
  readonly isSet: boolean
}

/** The settings that a service runs with, in the order of the documentation. A test compares them with it. */
export function describeSettings(config: Config): readonly DescribedSetting[] {
  const plain = (name: string, value: string | number | boolean | undefined) => ({
    name,
    value: value === undefined ? undefined : String(value),
    isSecret: false,
    isSet: value !== undefined,
  })
  const secret = (name: string, isSet: boolean) => ({ name, value: undefined, isSecret: true, isSet })
  const { database, rateLimits } = config
  return [
    plain('HOST', config.host),
    plain('PORT', config.port),
    // The URL of PostgreSQL contains a password.
    database.kind === 'sqlite' ? plain('DATABASE_URL', `sqlite:${database.file}`) : secret('DATABASE_URL', true),
    secret('SECRET_KEY', config.secretKey !== undefined),
    secret('SECRET_KEY_FALLBACKS', config.secretKeyFallbacks.length > 0),
    plain('BASE_URL', config.baseUrl),
    plain('FRONTEND_URL', config.frontendUrl),
    plain('API_TITLE', config.apiTitle),
    plain('METRICS_ENABLED', config.metricsEnabled),
    plain('CONSOLE_ENABLED', config.consoleEnabled),
    plain('ACCOUNT_PAGES_ENABLED', config.accountPagesEnabled),
    // The URL of a mail server contains a password.
    secret('SMTP_URL', config.smtpUrl !== undefined),
    plain('MAIL_FROM', config.mailFrom),
    plain('ADMIN_EMAIL', config.admin?.email),
    secret('ADMIN_PASSWORD', config.admin !== undefined),
    plain('CORS_ORIGINS', config.corsOrigins === '*' ? '*' : config.corsOrigins.join(', ')),
    plain('TRUST_PROXY', config.trustProxy),
    plain(
      'RATE_LIMITS',
      Object.entries(rateLimits)
        .map(([name, { count, periodMs }]) => `${name}=${count} in ${periodMs / 1000} s`)
        .join(', ') || 'off',
    ),
    plain('PASSWORD_BLOCKLIST', config.passwordBlocklist),
    plain('KEY_PREFIX', config.keyPrefix),
    plain('LOG_LEVEL', config.logLevel),
    plain('WORKERS', config.workers),
  ]
}
