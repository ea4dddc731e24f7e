/** The fields of each form of the pages. A form that is refused shows them again, except passwords. */
export const FORMS: Readonly<Record<string, readonly string[]>> = {
  '/account/sign-in': ['email', 'next'],
  '/console/sign-in': ['email', 'next'],
  '/account/sign-in/second-step': ['challenge', 'methods', 'next'],
  '/account/register': ['email', 'first_name', 'last_name'],
  '/account/forgot-password': ['email'],
  '/account/resend-verification': ['email'],
  '/account/': ['first_name', 'last_name'],
  '/account/email': ['email'],
  '/account/password': ['current_password', 'new_password', 'confirm_password'],
  '/account/keys': ['name', 'scopes', 'access', 'expires_at'],
  '/console/users/new': ['email', 'first_name', 'last_name'],
  '/console/keys': ['key'],
  '/console/first-admin': ['email', 'first_name', 'last_name'],
  '/reset-password/': ['code', 'new_password'],
}
