import { randomBytes } from 'node:crypto'
import type { InjectOptions } from 'fastify'

/** Requests to the account endpoints, valid unless a test changes a field. */
export const PASSWORD = 'correct horse battery'

export function newEmail(): string {
  return `mia-${randomBytes(6).toString('hex')}@example.com`
}

export function post(url: string, payload: unknown): InjectOptions {
  return { method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: JSON.stringify(payload) }
}

export function postForm(url: string, fields: Readonly<Record<string, string>>): InjectOptions {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return { method: 'POST', url, headers, payload: new URLSearchParams(fields).toString() }
}

export function register(fields: object = {}): InjectOptions {
  return post('/register/', { email: newEmail(), password: PASSWORD, first_name: 'Mia', last_name: 'Muster', ...fields })
}

export function login(fields: object): InjectOptions {
  return post('/login/', { password: PASSWORD, ...fields })
}

export function refresh(token: string): InjectOptions {
  return post('/refresh/', { refresh: token })
}

export function verify(code: string): InjectOptions {
  return { method: 'GET', url: '/verify/', query: { code } }
}

export function resendVerification(email: string): InjectOptions {
  return post('/verify/resend/', { email })
}

export function forgotPassword(email: string): InjectOptions {
  return post('/forgot-password/', { email })
}

export function confirmEmail(code: string): InjectOptions {
  return { method: 'GET', url: '/confirm-email/', query: { code } }
}

export function resetPage(code: string): InjectOptions {
  return { method: 'GET', url: '/reset-password/', query: { code } }
}

export function resetPassword(fields: object): InjectOptions {
  return post('/reset-password/', { new_password: 'a brand new password', ...fields })
}

export function logout(headers: Readonly<Record<string, string>>): InjectOptions {
  return { method: 'POST', url: '/logout/', headers }
}
