import { USER_FIELDS } from '../../../domain/import/imported-user.ts'
import { AUTH0 } from './auth0.source.ts'
import { createBetterAuth } from './better-auth.source.ts'
import { DJANGO } from './django.source.ts'
import { FASTAPI_TEMPLATE } from './fastapi-template.source.ts'
import { createFirebase, type HashConfig } from './firebase.source.ts'
import { KEYCLOAK } from './keycloak.source.ts'
import { defineSource, type Source } from './source.ts'
import type { SourceName } from './source-names.ts'
import { SUPABASE } from './supabase.source.ts'

const LATCHKEY = defineSource({
  title: 'Latchkey',
  mark: 'email',
  isUser: (record) => 'email' in record,
  fields: USER_FIELDS,
  convert: (record) => record,
})

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
    // The names of the header are those of the format of Latchkey.
    csv: { ...LATCHKEY, title: 'CSV', csvColumns: ['email'] },
  }
  return sources[name]
}
