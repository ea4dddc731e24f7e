import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ANSWERS, type Answer } from '../../../src/http/answers/answers.ts'
import type { App } from '../../../src/http/pipeline/declarations.ts'

const ALL: readonly Answer[] = Object.values(ANSWERS)

/** Fails the test if any error response lacks its code, or has a code that does not belong to its status and detail. */
export function requireCodes(t: TestContext, app: App): void {
  watch(t, app, problemOfCode)
}

/** Fails the test also if a route returns a status or a code that it does not declare. */
export function requireDeclaredErrors(t: TestContext, app: App): void {
  watch(t, app, (request, reply, payload) => problemOfCode(request, reply, payload) ?? problemOfDeclaration(request, reply))
}

type Check = (request: FastifyRequest, reply: FastifyReply, payload: unknown) => string | undefined

function watch(t: TestContext, app: App, check: Check): void {
  const problems: string[] = []
  app.addHook('onSend', async (request, reply, payload) => {
    const problem = check(request, reply, payload)
    if (problem !== undefined) problems.push(`${request.method} ${request.routeOptions.url} returned ${reply.statusCode}: ${problem}`)
    return payload
  })
  t.after(() => assert.deepEqual(problems, []))
}

function problemOfCode(_request: FastifyRequest, reply: FastifyReply, payload: unknown): string | undefined {
  const code = reply.getHeader('x-error-code')
  if (reply.statusCode < 400) return code === undefined ? undefined : `it is not an error, but has the code ${code}`
  const answer = ALL.find((one) => one.code === code && one.status === reply.statusCode)
  if (answer === undefined) return `the code ${code} does not belong to the status`
  const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
  if (!isJson || reply.statusCode === 422) return undefined
  return JSON.parse(String(payload)).detail === answer.detail ? undefined : `the code ${code} does not belong to ${payload}`
}

function problemOfDeclaration({ routeOptions, raw }: FastifyRequest, reply: FastifyReply): string | undefined {
  // The client disconnected while it sent its body, and receives nothing.
  if (raw.errored) return undefined
  const declared = routeOptions.schema?.response as Record<string, { codes?: string[] }> | undefined
  // A path that does not exist has no route, and a preflight is answered before any.
  if (declared === undefined || reply.statusCode === 204) return undefined
  const view = declared[reply.statusCode]
  if (view === undefined) return 'the route does not declare the status'
  const code = reply.getHeader('x-error-code')
  return reply.statusCode < 400 || view.codes?.includes(String(code)) ? undefined : `the route does not declare the code ${code}`
}
