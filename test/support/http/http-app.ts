import type { TestContext } from 'node:test'
import { pino } from 'pino'
import type { Authentication } from '../../../src/domain/identity/authentication.service.ts'
import { createHttpApp } from '../../../src/http/pipeline/create-app.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'
import { Refusal } from '../../../src/model/refusal.ts'
import { stopAfter } from '../app/cleanup.ts'
import { requireCodes } from './declared-errors.ts'

export type SkeletonOptions = Partial<Parameters<typeof createHttpApp>[0]>

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
  const usual = { authentication: NO_CALLERS, corsOrigins: '*', trustProxy: false, answerWithinMs: PATIENCE_MS } as const
  const app = createHttpApp({ logger: pino({ level: 'silent' }), ...usual, ...options }, addRoutes)
  stopAfter(t, () => app.close())
  requireCodes(t, app)
  return app
}
