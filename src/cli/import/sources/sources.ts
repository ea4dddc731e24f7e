import { AUTH0 } from './auth0.source.ts'
import { createBetterAuth } from './better-auth.source.ts'
import { DJANGO } from './django.source.ts'
import { FASTAPI_TEMPLATE } from './fastapi-template.source.ts'
import { createFirebase, type HashConfig } from './firebase.source.ts'
import { KEYCLOAK } from './keycloak.source.ts'
import { CSV, LATCHKEY } from './latchkey.source.ts'
import type { Source } from './source.ts'
import type { SourceName } from './source-names.ts'
import { SUPABASE } from './supabase.source.ts'

export function createSource(name: SourceName, hashConfig: HashConfig | undefined): Source {
  const sources: Readonly<Record<SourceName, Source>> = {
    latchkey: LATCHKEY,
    supabase: SUPABASE,
    auth0: AUTH0,
    firebase: createFirebase(hashConfig),
    keycloak: KEYCLOAK,
    django: DJANGO,
    'better-auth': createBetterAuth(),
    'fastapi-template': FASTAPI_TEMPLATE,
    csv: CSV,
  }
  return sources[name]
}
