import type { FastifyReply, FastifyRequest } from 'fastify'

/** One step of the pipeline. It calls `done`, returns a promise, sends the response itself, or throws. */
export type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void | Promise<void>

/** The steps that apply to a route. A step that does not apply is `false`, empty or undefined. */
export function present<Step>(...steps: readonly (Step | false | '' | undefined)[]): Step[] {
  return steps.filter((step): step is Step => Boolean(step))
}

/** The steps of pages that need the design of the site. */
export type PageSteps = {
  /** Whether BASE_URL is https. */
  readonly isSecure: boolean
  /** The token in the cookie. */
  readCookie(request: FastifyRequest): string | undefined
  /** Asks for the password again if it was given too long ago. */
  readonly requireRecentPassword: Hook
}
