import { Type } from '../../validation/schema.ts'
import { KEY_EXAMPLE } from './key.schemas.ts'

const MAX_FINDINGS = 100
const FOUND_TOKEN_MAX_LENGTH = 1000

const FoundToken = Type.String({
  minLength: 1,
  maxLength: FOUND_TOKEN_MAX_LENGTH,
  description: 'The text that looks like a key.',
  examples: [KEY_EXAMPLE],
})
const FoundType = Type.String({
  maxLength: FOUND_TOKEN_MAX_LENGTH,
  description: 'The name that the scanner has for such keys.',
  examples: ['latchkey_api_key'],
})

/** The body of GitHub's secret-scanning partner programme. */
export const FindingsBody = Type.Array(
  Type.Object(
    {
      token: FoundToken,
      type: FoundType,
      url: Type.Optional(
        Type.String({
          nullable: true,
          maxLength: 4000,
          description: 'Where it was found.',
          examples: ['https://github.com/octo/notes/blob/1/.env'],
        }),
      ),
      source: Type.Optional(
        Type.String({ nullable: true, maxLength: 100, description: 'Where the scanner looked.', examples: ['content'] }),
      ),
    },
    { title: 'FoundSecret', description: 'A secret that a scanner has found in public.' },
  ),
  { minItems: 1, maxItems: MAX_FINDINGS },
)

export const LabelsView = Type.Array(
  Type.Object(
    {
      token_raw: FoundToken,
      token_type: FoundType,
      label: Type.Enum(['true_positive', 'false_positive'], {
        description: 'Whether it is a key of this service, disabled before or not.',
      }),
    },
    { title: 'SecretLabel', description: 'The judgement of a secret that was found.' },
  ),
)
