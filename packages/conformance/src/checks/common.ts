import { type Check, check } from '../check.ts'
import type { Answer } from '../client.ts'
import type { Context } from '../context.ts'
import { expectInvalid, expectRefusal } from '../expect.ts'
import { MALFORMED, shapedText, TOKEN_MAX_LENGTH } from '../tokens.ts'

/** Well formed, and far beyond the ids of any installation that is checked. */
export const unknownId = () => 2_000_000_000 + Math.floor(Math.random() * 100_000_000)

/** Bodies that are no JSON object. */
const BROKEN_BODIES = {
  'broken JSON': '{"email": ',
  'an array': '[]',
  'a text': '"text"',
  'an empty body': '',
} as const

/** One check for each kind of broken body, for an endpoint that takes JSON. */
export function brokenBodyChecks(area: string, method: string, path: string): Check[] {
  return Object.entries(BROKEN_BODIES).map(([kind, body]) =>
    check(
      `${area}.${kind.replace(/^an? /, '').replace(' ', '-').toLowerCase()}-422`,
      '7',
      `${kind} is answered with 422`,
      async ({ call }) => {
        expectInvalid(await call(method, path, { raw: { body, type: 'application/json' } }))
      },
    ),
  )
}

type TokenEndpoint = {
  /** What the endpoint calls a token: `token` or `code`. */
  readonly noun: string
  /** The section about a token that has not the shape of one. */
  readonly section: string
  send(context: Context, token: string): Promise<Answer>
}

/** The tokens that no endpoint accepts, whatever they are for. */
export function badTokenChecks(area: string, { noun, section, send }: TokenEndpoint): Check[] {
  return [
    ...MALFORMED.map((token, index) =>
      check(`${area}.malformed-${index + 1}`, section, `a ${noun} without JWT shape (${token}) is answered with 401`, async (context) => {
        expectRefusal(await send(context, token), 401)
      }),
    ),
    check(`${area}.empty`, '2.3 rule 3', `an empty ${noun} is rejected`, async (context) => {
      expectRefusal(await send(context, ''), [401, 422])
    }),
    check(`${area}.too-long`, '2.3 rule 1', `a ${noun} of 1025 characters is rejected`, async (context) => {
      expectRefusal(await send(context, shapedText(TOKEN_MAX_LENGTH + 1)), [401, 422])
    }),
    check(`${area}.forged`, '2.3 rule 4', `a ${noun} of 1024 characters with a wrong signature is answered with 401`, async (context) => {
      expectRefusal(await send(context, shapedText(TOKEN_MAX_LENGTH)), 401)
    }),
  ]
}
