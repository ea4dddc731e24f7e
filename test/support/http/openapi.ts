import type { TestContext } from 'node:test'
import type { InjectOptions } from 'fastify'
import { startApp } from '../app/start-app.ts'

type Schema = {
  readonly $ref?: string
  readonly description?: string
  readonly examples?: unknown[]
  readonly enum?: unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly items?: Schema
  readonly properties?: Record<string, Schema>
}
type Content = Record<string, { schema: Schema; example?: unknown; examples?: Record<string, { value: unknown }> }>
type Response = {
  readonly $ref?: string
  readonly description: string
  readonly content?: Content
  readonly headers?: Record<string, { schema: Schema }>
}

export type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: string[]
  readonly security: object[]
  readonly parameters?: { name: string; in: string; description: string; example: unknown }[]
  readonly requestBody?: { required: boolean; content: Content }
  readonly responses: Record<string, Response>
}

/** The parts of an OpenAPI document that the tests read. */
export type ApiDocument = {
  readonly openapi: string
  readonly info: { title: string; version: string; license: { identifier: string } }
  readonly servers: { url: string }[]
  readonly tags: { name: string; description: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: {
    readonly schemas: Record<string, Schema>
    readonly responses: Record<string, Response>
    readonly securitySchemes: Record<string, { type: string; scheme?: string; name?: string }>
  }
}

export type ListedOperation = {
  readonly method: NonNullable<InjectOptions['method']>
  readonly path: string
  readonly operation: Operation
  /** Its responses, with references resolved. */
  readonly responses: Record<string, Response>
}

/** Starts a service and returns its OpenAPI document. */
export async function readApiDocument(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<ApiDocument> {
  // Linters reject localhost as the address of a server.
  const { app } = await startApp(t, { env: { BASE_URL: 'https://accounts.example.org', ...env } })
  return (await app.inject('/openapi.json')).json()
}

export function operationsOf({ paths, components }: ApiDocument): ListedOperation[] {
  return Object.entries(paths).flatMap(([path, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => {
      const responses = Object.entries(operation.responses).map(([status, response]) => {
        const shared = components.responses[response.$ref?.split('/').at(-1) ?? '']
        return [status, shared ?? response]
      })
      // The keys of a path are lower-case method names and nothing else.
      return { method: method.toUpperCase() as ListedOperation['method'], path, operation, responses: Object.fromEntries(responses) }
    }),
  )
}
