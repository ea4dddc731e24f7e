import { counted } from '../../shared/text.ts'

export type Location = 'body' | 'query' | 'path'
export type ValidationIssue = { readonly loc: readonly (string | number)[]; readonly msg: string; readonly type: string }

/** An invalid request (422), with all validation issues of the invalid part of the request. */
export class InvalidRequest extends Error {
  readonly issues: readonly ValidationIssue[]

  constructor(issues: readonly ValidationIssue[]) {
    super('the request is invalid')
    this.name = 'InvalidRequest'
    this.issues = issues
  }
}

/** The type and the message of an issue. Both follow Pydantic 2, as clients expect. No message repeats a submitted value. */
export type IssueMessage = Omit<ValidationIssue, 'loc'>

/** The maximum number of parameters of a query or a form. */
export const MAX_PARAMETERS = 100

export const MESSAGES = {
  missing: { type: 'missing', msg: 'Field required' },
  stringType: { type: 'string_type', msg: 'Input should be a valid string' },
  booleanType: { type: 'bool_type', msg: 'Input should be a valid boolean' },
  booleanParsing: { type: 'bool_parsing', msg: 'Input should be a valid boolean, unable to interpret input' },
  integerParsing: { type: 'int_parsing', msg: 'Input should be a valid integer, unable to parse string as an integer' },
  integerType: { type: 'int_type', msg: 'Input should be a valid integer' },
  instantParsing: {
    type: 'datetime_parsing',
    msg: 'Input should be a valid datetime in ISO 8601 with an offset, such as 2026-01-31T09:30:00Z',
  },
  instantInPast: { type: 'datetime_future', msg: 'Input should be in the future' },
  uuidParsing: { type: 'uuid_parsing', msg: 'Input should be a valid UUID' },
  objectParsing: { type: 'value_error', msg: 'Value error, enter a JSON object of at most 16,384 bytes, nested at most 32 levels deep' },
  cursorParsing: { type: 'value_error', msg: 'Value error, the cursor should be the `next` of a page before' },
  listType: { type: 'list_type', msg: 'Input should be a valid list' },
  objectType: { type: 'model_attributes_type', msg: 'Input should be a valid dictionary or object to extract fields from' },
  jsonInvalid: { type: 'json_invalid', msg: 'JSON decode error' },
  formInvalid: { type: 'value_error', msg: 'Value error, the form could not be read' },
  contentType: { type: 'model_attributes_type', msg: 'Input should be a JSON object, sent with Content-Type: application/json' },
  email: { type: 'value_error', msg: 'value is not a valid email address' },
  listedPassword: { type: 'value_error', msg: 'This password is on a list of breached passwords' },
  unknownPlan: { type: 'value_error', msg: 'This plan does not exist' },
  limitParsing: { type: 'value_error', msg: 'Value error, the limit should be a number per s, m, h or d, such as 10/m' },
  unknownScope: { type: 'value_error', msg: 'This scope does not exist' },
  forbiddenCharacter: { type: 'value_error', msg: 'Value error, control characters and lone surrogates are not allowed' },
  undecodable: { type: 'value_error', msg: 'Value error, the text should be percent-encoded UTF-8' },
  tooManyParameters: { type: 'value_error', msg: `Value error, there should be at most ${MAX_PARAMETERS} parameters` },
  repeated: { type: 'value_error', msg: 'Value error, the parameter should be given once' },
} as const satisfies Record<string, IssueMessage>

/** The messages about a rule with a value. */
export const RULE_MESSAGES = {
  tooShort: (length: number) => ({ type: 'string_too_short', msg: `String should have at least ${counted(length, 'character')}` }),
  tooLong: (length: number) => ({ type: 'string_too_long', msg: `String should have at most ${counted(length, 'character')}` }),
  tooManyItems: (length: number) => ({ type: 'too_long', msg: `List should have at most ${counted(length, 'item')}` }),
  tooFewItems: (length: number) => ({ type: 'too_short', msg: `List should have at least ${counted(length, 'item')}` }),
  below: (minimum: number) => ({ type: 'greater_than_equal', msg: `Input should be greater than or equal to ${minimum}` }),
  above: (maximum: number) => ({ type: 'less_than_equal', msg: `Input should be less than or equal to ${maximum}` }),
  notOneOf: (words: readonly string[]) => ({ type: 'enum', msg: `Input should be ${alternatives(words)}` }),
  notExactlyOneOf: (names: readonly string[]) => ({
    type: 'value_error',
    msg: `Value error, exactly one of ${names.join(', ')} is required`,
  }),
  tooDeep: (levels: number) => ({
    type: 'value_error',
    msg: `Value error, the object should be nested at most ${levels} levels deep, with numbers below 1.8e308`,
  }),
  noneOf: (names: readonly string[]) => ({ type: 'value_error', msg: `Value error, at least one of ${names.join(', ')} is required` }),
} as const satisfies Record<string, (limit: never) => IssueMessage>

function alternatives(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`)
  return [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter(Boolean).join(' or ')
}
