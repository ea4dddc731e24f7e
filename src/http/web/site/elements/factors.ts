import type { FactorAnswer } from '../../../../domain/sign-in/second-step.ts'
import { type Html, html } from '../../../../shared/html.ts'
import { Type } from '../../../validation/schema.ts'
import type { Texts } from '../../texts/texts.ts'
import { type FormField, invalidField } from './fields.ts'

/** A code of an app or, in the same field, a recovery code. Without a value where a passkey takes its place. */
export const CODE = {
  schema: Type.Optional(Type.String({ maxLength: 40 })),
  label: ({ fields }) => fields.code,
  autocomplete: 'one-time-code',
  maxLength: 40,
  hint: ({ hints }) => hints.code,
} as const satisfies FormField

/** What a passkey has answered, as JSON. Only the script fills it in. */
export const PASSKEY = { schema: Type.Optional(Type.String({ maxLength: 20_000 })) } as const

type PasskeyButton = {
  readonly root: string
  readonly text: string
  /** The field that takes the answer. */
  readonly name: string
  /** The challenge of a login, if the passkey is its second step. */
  readonly challenge?: string | undefined
  /** Whether the email field offers saved passkeys too. */
  readonly hasAutofill?: boolean
}

/** A button that asks for a passkey and sends its form with the answer. Hidden without the script, which it needs. */
export function passkeyButton({ root, text, name, challenge, hasAutofill = false }: PasskeyButton): Html {
  const question = challenge === undefined ? '' : html` data-challenge="${challenge}"`
  return html`<input type="hidden" name="${name}"><button type="button" data-passkey="${root}/login/passkey/options" data-field="${name}"${question}${hasAutofill ? html` data-autofill` : ''} hidden>${text}</button>`
}

/** A button that creates a passkey and sends its form with it. Hidden without the script, which it needs. */
export function newPasskeyButton({ text, name, options, isPrimary = false }: NewPasskeyButton): Html {
  const look = isPrimary ? html` class="primary"` : ''
  return html`<input type="hidden" name="${name}"><button type="button"${look} data-passkey data-field="${name}" data-create="${JSON.stringify(options)}" hidden>${text}</button>`
}

type NewPasskeyButton = Pick<PasskeyButton, 'text' | 'name'> & {
  /** What the browser needs to create it. */
  readonly options: object | undefined
  readonly isPrimary?: boolean
}

/** The answer of a form: the passkey, if the script has filled it in, otherwise the code. */
export function factorAnswer({ issues, fields }: Texts, code = '', passkey = ''): FactorAnswer {
  if (passkey !== '') return { passkey: credentialOf(passkey) }
  if (code.trim() === '') throw invalidField('code', issues.required(fields.code))
  return { code }
}

/** A text that is no JSON object is a passkey that nobody accepts. */
export function credentialOf(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
