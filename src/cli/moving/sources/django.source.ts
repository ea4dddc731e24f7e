import { isObject } from '../../../domain/moving/imported-user.ts'
import { defineSource, isTrue, objectOf } from './source.ts'

/** The export of `manage.py dumpdata auth.user`, or of another model of users. */
export const DJANGO = defineSource({
  title: 'Django',
  mark: 'fields.password',
  isUser: (record) => 'model' in record && 'password' in objectOf(record['fields']),
  isOther: (record) => typeof record['model'] === 'string' && isObject(record['fields']) && !('password' in record['fields']),
  fields: {
    model: true,
    pk: true,
    fields: {
      email: true,
      password: true,
      first_name: true,
      last_name: true,
      is_superuser: true,
      is_active: true,
      date_joined: true,
      last_login: true,
    },
  },
  convert(record) {
    const fields = objectOf(record.fields)
    return {
      id: typeof record.pk === 'number' ? record.pk : undefined,
      email: fields['email'],
      first_name: fields['first_name'],
      last_name: fields['last_name'],
      role: isTrue(fields['is_superuser']) ? 'admin' : 'user',
      // Django has no mark for verified addresses: an account that could log in there can log in here.
      verified: isTrue(fields['is_active'] ?? true),
      banned: !isTrue(fields['is_active'] ?? true),
      created_at: fields['date_joined'],
      last_login_at: fields['last_login'],
      password_hash: fields['password'],
    }
  },
})
