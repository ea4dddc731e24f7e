import { checkBoolean } from '../../../domain/import/field-checks.ts'
import { isObject } from '../../../model/entity.ts'
import { defineSource, objectOf, plain } from './source.ts'

/** The export of `manage.py dumpdata auth.user`, or of another model of users. */
export const DJANGO = defineSource({
  title: 'Django',
  mark: 'fields.password',
  isUser: (record) => 'model' in record && 'password' in objectOf(record['fields']),
  isOther: (record) => typeof record['model'] === 'string' && isObject(record['fields']) && !('password' in record['fields']),
  fields: {
    ...plain('model', 'pk'),
    fields: plain('email', 'password', 'first_name', 'last_name', 'is_superuser', 'is_active', 'date_joined', 'last_login'),
  },
  convert(record) {
    const fields = objectOf(record.fields)
    const isActive = checkBoolean('is_active', fields['is_active']) ?? true
    return {
      id: typeof record.pk === 'number' ? record.pk : undefined,
      email: fields['email'],
      first_name: fields['first_name'],
      last_name: fields['last_name'],
      role: checkBoolean('is_superuser', fields['is_superuser']) ? 'admin' : 'user',
      // Django has no mark for verified addresses: an account that could log in there can log in here.
      verified: isActive,
      banned: !isActive,
      created_at: fields['date_joined'],
      last_login_at: fields['last_login'],
      password_hash: fields['password'],
    }
  },
})
