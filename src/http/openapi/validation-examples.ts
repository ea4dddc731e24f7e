import type { FastifySchema } from 'fastify'
import { compileParser, type ObjectSchema } from '../validation/parsing.ts'
import { COMPLAINTS, type Fault, InvalidRequest, type Location } from '../validation/validation-error.ts'

type FaultExample = { readonly summary: string; readonly value: { readonly detail: readonly Fault[] } }

// The one fault that a request can have where a route takes nothing.
const REPEATED: FaultExample = {
  summary: 'A parameter that is given twice',
  value: { detail: [{ loc: ['query', 'page'], ...COMPLAINTS.repeated }] },
}

/** What the parser itself says to requests of this shape that are not well formed. */
export function faultExamples(schema: FastifySchema): Record<string, FaultExample> {
  const path = objectSchema(schema.params)
  const query = objectSchema(schema.querystring)
  const body = objectSchema(schema.body)
  const examples = {
    ...(path && { path: example('The path', path, 'path', [filled(path, '')]) }),
    ...(query && { query: example('The query', query, 'query', [{}, filled(query, ''), filled(query, '\0')]) }),
    ...(body && {
      missing: example('A body without its fields', body, 'body', [{}]),
      invalid: example('Fields that will not do', body, 'body', [filled(body, '')]),
    }),
  }
  const found = Object.entries(examples).filter((entry): entry is [string, FaultExample] => entry[1] !== undefined)
  return found.length > 0 ? Object.fromEntries(found) : { repeated: REPEATED }
}

/** Where a route takes several kinds of body, the JSON one. */
function objectSchema(declared: unknown): ObjectSchema | undefined {
  // A part of a request is declared as an object, or as content by media type: create-app.ts hands nothing else to the parser.
  const schema = declared as (ObjectSchema & { content?: Record<string, { schema: ObjectSchema }> }) | undefined
  return schema?.content?.['application/json']?.schema ?? schema
}

function filled({ properties = {} }: ObjectSchema, value: string): object {
  return Object.fromEntries(Object.keys(properties).map((name) => [name, value]))
}

/** The faults of the first input that has any. */
function example(summary: string, schema: ObjectSchema, location: Location, inputs: readonly object[]): FaultExample | undefined {
  const parse = compileParser(schema, location)
  for (const input of inputs) {
    try {
      parse(input)
    } catch (error) {
      if (error instanceof InvalidRequest) return { summary, value: { detail: error.faults } }
      throw error
    }
  }
  return undefined
}
