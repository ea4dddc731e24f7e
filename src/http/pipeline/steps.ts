import type { FastifyReply, FastifyRequest } from 'fastify'

/** One step of the pipeline. It calls `done` or returns a promise, answers the request itself, or throws. */
export type Hook = (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void | Promise<void>

/** The steps that apply to a route: a step that does not is `false` or absent. */
export function present<Step>(...steps: readonly (Step | false | '' | undefined)[]): Step[] {
  return steps.filter((step): step is Step => Boolean(step))
}
