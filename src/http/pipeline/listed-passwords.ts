import type { Blocklist } from '../../security/blocklist.ts'
import { InvalidRequest, MESSAGES } from '../validation/validation-error.ts'
import type { Declared } from './declarations.ts'
import type { Hook } from './steps.ts'

type BodySchema = {
  readonly properties?: Readonly<Record<string, { readonly format?: string; readonly minLength?: number }>>
  readonly content?: Readonly<Record<string, { readonly schema: BodySchema }>>
}

/** Refuses a new password that is on the list (422). A route has this step if a field of its body is a new password. */
export function refuseListedPasswords(blocklist: Blocklist | undefined, { schema }: Declared): Hook | undefined {
  const fields = newPasswordFields((schema.body ?? {}) as BodySchema)
  if (blocklist === undefined || fields.length === 0) return undefined
  return async ({ body }) => {
    const values = body as Readonly<Record<string, string | undefined>>
    for (const field of fields) {
      const password = values[field]
      if (password !== undefined && (await blocklist.includes(password)))
        throw new InvalidRequest([{ loc: ['body', field], ...MESSAGES.listedPassword }])
    }
  }
}

/** Only a new password has a minimum length: one that is compared may be anything. */
function newPasswordFields({ properties = {}, content = {} }: BodySchema): string[] {
  const own = Object.entries(properties).filter(([, { format, minLength }]) => format === 'password' && minLength !== undefined)
  return [...new Set([...own.map(([name]) => name), ...Object.values(content).flatMap(({ schema }) => newPasswordFields(schema))])]
}
