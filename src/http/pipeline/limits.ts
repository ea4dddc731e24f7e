import type { FastifyRequest } from 'fastify'
import type { Place } from '../../domain/limits/places.ts'
import type { Limiter } from '../../domain/limits/rate-limits.service.ts'
import type { AccountLimit, AddressLimit } from '../../domain/values/rate-limits.ts'
import { TooManyRequests } from '../../model/refusal.ts'
import { timed } from './deadline.ts'
import type { AsyncStep, Declared } from './declarations.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The limits of the settings that count the requests of the route. */
    limits?: {
      readonly ip: AddressLimit
      /** For a route whose body has the field `email`. */
      readonly account?: AccountLimit
    }
  }
  interface FastifyRequest {
    /** What the request has counted so far. A login passes it to `settle`, before it sends a response. */
    places: readonly Place[] | undefined
  }
}

type LimitSteps = {
  /** Counts by address (429), before the body is read. */
  readonly byAddress: AsyncStep | undefined
  /** Counts by account (429), after the body is validated and before anything is looked up or hashed. */
  readonly byAccount: AsyncStep | undefined
}

/** Without a limit in the settings, a route has no such step. Pages have limits of their own, which are always on. */
export function createLimitSteps(apiLimiter: Limiter | undefined, pageLimiter: Limiter | undefined): (route: Declared) => LimitSteps {
  return ({ config: { limits, page } }) => {
    const { ip, account } = limits ?? {}
    const limiter = page === undefined ? apiLimiter : pageLimiter
    return {
      byAddress: ip && limiter?.has(ip) ? counting((request) => limiter.countAddress(ip, request.origin.ip)) : undefined,
      byAccount:
        account && limiter?.has(account)
          ? counting((request) => limiter.countAccount(account, emailOf(request), request.origin.ip))
          : undefined,
    }
  }
}

/**
 * A request that the limit of an account refuses still counts for its address: a flood of them has to end there, without a statement.
 * A request that fails counts for nothing.
 */
function counting(count: (request: FastifyRequest) => Promise<Place>): AsyncStep {
  return timed(async (request) => {
    const { places = [] } = request
    try {
      request.places = [...places, await count(request)]
    } catch (error) {
      if (!(error instanceof TooManyRequests)) await Promise.all(places.map((place) => place.giveBack()))
      throw error
    }
  })
}

/** A route that counts by account has a body with this field. It is validated by now. */
function emailOf({ body }: FastifyRequest): string {
  return (body as { readonly email: string }).email
}
