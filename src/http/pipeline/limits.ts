import type { FastifyRequest } from 'fastify'
import type { Limiter } from '../../domain/rate-limits.service.ts'
import type { AccountLimit, AddressLimit } from '../../domain/values/rate-limits.ts'
import type { Declared } from './declarations.ts'
import type { Hook } from './steps.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The limits of the settings that count the requests of the route. */
    limits?: {
      readonly ip: AddressLimit
      /** For a route whose body has the field `email`. */
      readonly account?: AccountLimit
    }
  }
}

export type LimitSteps = {
  /** Counts by address (429), before the body is read. */
  readonly byAddress: Hook | undefined
  /** Counts by account (429), after the body is validated and before anything is looked up or hashed. */
  readonly byAccount: Hook | undefined
}

/** Without a limit in the settings, a route has no such step. Pages have limits of their own, which are always on. */
export function createLimitSteps(apiLimiter: Limiter | undefined, pageLimiter: Limiter | undefined): (route: Declared) => LimitSteps {
  return ({ config: { limits, page } }) => {
    const { ip, account } = limits ?? {}
    const limiter = page === undefined ? apiLimiter : pageLimiter
    return {
      byAddress: ip && limiter?.has(ip) ? timed((request) => limiter.countAddress(ip, request.origin.ip)) : undefined,
      byAccount:
        account && limiter?.has(account)
          ? timed((request) => limiter.countAccount(account, (request.body as { email: string }).email, request.origin.ip))
          : undefined,
    }
  }
}

/** The time that a step takes counts for the deadline. */
function timed(count: (request: FastifyRequest) => Promise<void>): Hook {
  return async (request) => {
    const startedAtMs = performance.now()
    await count(request)
    request.guardedMs += performance.now() - startedAtMs
  }
}
