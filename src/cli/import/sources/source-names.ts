/** The sources of `user import`. Apart from their readers, so that the help loads none of them. */
export const SOURCE_NAMES = [
  'latchkey',
  'supabase',
  'auth0',
  'firebase',
  'keycloak',
  'django',
  'better-auth',
  'fastapi-template',
  'csv',
] as const

export type SourceName = (typeof SOURCE_NAMES)[number]
