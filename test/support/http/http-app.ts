import type { TestContext } from 'node:test'
import type { FastifyBaseLogger } from 'fastify'
import { pino } from 'pino'
import type { Authentication } from '../../../src/domain/identity/authentication.service.ts'
import type { ErrorPage } from '../../../src/http/answers/errors.ts'
import { createHttpApp } from '../../../src/http/pipeline/create-app.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import type { ServerLimits } from '../../../src/http/server.ts'
import { Refusal } from '../../../src/model/refusal.ts'
import { requireCodes } from './declared-errors.ts'

export type SkeletonOptions = {
  readonly corsOrigins?: '*' | readonly string[]
  readonly trustProxy?: boolean
  readonly logger?: FastifyBaseLogger
  readonly limits?: Partial<ServerLimits>
  readonly authentication?: Authentication
  readonly answerWithinMs?: number
  readonly errorPage?: ErrorPage
}

// A busy machine may stop for seconds. The deadline of requests has its own tests.
const PATIENCE_MS = 60_000

// The routes that a test adds are public, so every credential is refused.
const NO_CALLERS: Authentication = {
  byToken: () => Promise.reject(new Refusal('token_invalid')),
  byKey: () => Promise.reject(new Refusal('key_invalid')),
  byPageToken: () => Promise.reject(new Refusal('token_invalid')),
}

/** The HTTP application with routes of the test, for behaviour that no route of the service has. */
export function startSkeleton(t: TestContext, addRoutes: Parameters<typeof createHttpApp>[1], options: SkeletonOptions = {}): App {
  const {
    corsOrigins = '*',
    trustProxy = false,
    logger = pino({ level: 'silent' }),
    limits,
    authentication = NO_CALLERS,
    answerWithinMs = PATIENCE_MS,
    errorPage,
  } = options
  const app = createHttpApp(
    { logger, authentication, corsOrigins, trustProxy, answerWithinMs, ...(limits && { limits }), ...(errorPage && { errorPage }) },
    addRoutes,
  )
  t.after(() => app.close())
  requireCodes(t, app)
  return app
}
