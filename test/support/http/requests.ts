import { randomBytes } from 'node:crypto'
import type { InjectOptions } from 'fastify'

type Fields = Readonly<Record<string, string>>

/** Requests to the account endpoints, valid unless a test changes a field. */
export const PASSWORD = 'correct horse battery'

export function newEmail(): string {
  return `mia-${randomBytes(6).toString('hex')}@example.com`
}

export function post(url: string, payload: unknown): InjectOptions {
  return { method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: JSON.stringify(payload) }
}

export function postForm(url: string, fields: Fields, further: Fields = {}): InjectOptions {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...further }
  return { method: 'POST', url, headers, payload: new URLSearchParams(fields).toString() }
}

const withCode =
  (url: string) =>
  (code: string): InjectOptions => ({ method: 'GET', url, query: { code } })
const withEmail = (url: string) => (email: string) => post(url, { email })

export const register = (fields: object = {}) =>
  post('/register/', { email: newEmail(), password: PASSWORD, first_name: 'Mia', last_name: 'Muster', ...fields })
export const login = (fields: object) => post('/login/', { password: PASSWORD, ...fields })
export const refresh = (token: string) => post('/refresh/', { refresh: token })
export const verify = withCode('/verify/')
export const resendVerification = withEmail('/verify/resend/')
export const forgotPassword = withEmail('/forgot-password/')
export const confirmEmail = withCode('/confirm-email/')
export const resetPage = withCode('/reset-password/')
export const resetPassword = (fields: object) => post('/reset-password/', { new_password: 'a brand new password', ...fields })
export const logout = (headers: Fields): InjectOptions => ({ method: 'POST', url: '/logout/', headers })
