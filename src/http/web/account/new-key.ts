import { isScope, MAX_SCOPES, SCOPE_MAX_LENGTH } from '../../../domain/values/limits.ts'
import { InvalidRequest } from '../../validation/validation-error.ts'

export const KEY_LABELS = { name: 'Name', scopes: 'Scopes', access: 'Access', expires_at: 'Expires' }

const DATE = /^\d{4}-\d{2}-\d{2}$/

/** Scopes are separated by spaces or commas. */
export function parseScopes(text = ''): string[] {
  const scopes = [...new Set(text.split(/[\s,]+/).filter((scope) => scope !== ''))]
  if (scopes.length > MAX_SCOPES) throw invalid('scopes', `There should be at most ${MAX_SCOPES} scopes`)
  if (!scopes.every(isScope)) throw invalid('scopes', `Each scope should have at most ${SCOPE_MAX_LENGTH} printable characters`)
  return scopes
}

/** A date field is empty or `2026-01-31`. The key works through that day (UTC). */
export function parseExpiry(text = ''): number | undefined {
  if (text === '') return undefined
  const end = DATE.test(text) ? Date.parse(`${text}T23:59:59.999Z`) : Number.NaN
  // A day that its month does not have becomes another day.
  if (Number.isNaN(end) || new Date(end).toISOString().slice(0, 10) !== text)
    throw invalid('expires_at', 'This should be a date such as 2027-01-31')
  return end
}

function invalid(field: string, message: string): InvalidRequest {
  return new InvalidRequest([{ loc: ['body', field], type: 'value_error', msg: `Value error, ${message}` }])
}
