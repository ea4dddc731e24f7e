import type { FastifyReply, FastifyRequest } from 'fastify'

/** One step of the pipeline. It calls `done`, returns a promise, sends the response itself, or throws. */
export type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void | Promise<void>

/** The steps that apply to a route. A step that does not apply is `false`, empty or undefined. */
export function present<Step>(...steps: readonly (Step | false | '' | undefined)[]): Step[] {
  return steps.filter((step): step is Step => Boolean(step))
}
