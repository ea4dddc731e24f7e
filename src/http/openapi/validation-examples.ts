import type { FastifySchema } from 'fastify'
import { compileParser, type ObjectSchema, type PartSchema } from '../validation/parsing.ts'
import { InvalidRequest, type Location, MESSAGES, type ValidationIssue } from '../validation/validation-error.ts'

type ValidationExample = { readonly summary: string; readonly value: { readonly detail: readonly ValidationIssue[] } }

// The only validation error of a route without input.
const REPEATED: ValidationExample = {
  summary: 'A parameter that is sent twice',
  value: { detail: [{ loc: ['query', 'page'], ...MESSAGES.repeated }] },
}

/** Examples of validation errors, made by the parser itself. */
export function validationExamples(schema: FastifySchema): Record<string, ValidationExample> {
  const path = partSchema(schema.params)
  const query = partSchema(schema.querystring)
  const body = partSchema(schema.body)
  const examples = {
    ...(path && { path: example('The path', path, 'path', [filled(path, '')]) }),
    ...(query && { query: example('The query', query, 'query', [{}, filled(query, ''), filled(query, '\0')]) }),
    ...(body && {
      missing: example('A body without its required fields', body, 'body', [{}]),
      invalid: example('Invalid fields', body, 'body', [filled(body, '')]),
    }),
  }
  const found = Object.entries(examples).filter((entry): entry is [string, ValidationExample] => entry[1] !== undefined)
  return found.length > 0 ? Object.fromEntries(found) : { repeated: REPEATED }
}

/** The schema of a part of a request. If a route accepts several content types, the one for JSON. */
function partSchema(declared: unknown): PartSchema | undefined {
  // A part of a request is declared as an object, as a list, or as content by media type: create-app.ts passes nothing else to the parser.
  const schema = declared as (PartSchema & { content?: Record<string, { schema: ObjectSchema }> }) | undefined
  return schema?.content?.['application/json']?.schema ?? schema
}

function filled(schema: PartSchema, value: string): object {
  if ('items' in schema) return [filled(schema.items, value)]
  const { properties = {} } = schema
  return Object.fromEntries(Object.keys(properties).map((name) => [name, value]))
}

/** The issues of the first input that has any. */
function example(summary: string, schema: PartSchema, location: Location, inputs: readonly object[]): ValidationExample | undefined {
  const parse = compileParser(schema, location)
  for (const input of inputs) {
    try {
      parse(input)
    } catch (error) {
      if (error instanceof InvalidRequest) return { summary, value: { detail: error.issues } }
      throw error
    }
  }
  return undefined
}
