import { checkBoolean } from '../../../domain/import/field-checks.ts'
import { Rejected } from '../../../domain/import/imported-user.ts'
import { defineSource, plain, type Source, splitName } from './source.ts'

/** Two projects have this name. Their tables have only the address and the time of creation in common. */
const COMMON = { title: 'FastAPI template', csvColumns: ['email'], mark: 'password or hashed_password' }

/** Rows of the table users of the template with the command api-admin. */
const API_TEMPLATE = defineSource({
  ...COMMON,
  isUser: (record) => 'password' in record,
  fields: plain('id', 'email', 'password', 'first_name', 'last_name', 'role', 'verified', 'banned', 'created_at'),
  convert: (record) => ({
    id: record.id,
    email: record.email,
    first_name: record.first_name,
    last_name: record.last_name,
    // Python writes the role with the name of its type.
    role: typeof record.role === 'string' ? record.role.replace(/^RoleType\./, '') : record.role,
    verified: record.verified,
    banned: record.banned,
    created_at: record.created_at,
    password_hash: record.password,
  }),
})

/** Rows of the table user of the full-stack template. */
const FULL_STACK_TEMPLATE = defineSource({
  ...COMMON,
  isUser: (record) => 'hashed_password' in record,
  fields: plain('email', 'hashed_password', 'full_name', 'is_superuser', 'is_active', 'created_at'),
  convert(record) {
    const isActive = checkBoolean('is_active', record.is_active) ?? true
    return {
      email: record.email,
      ...splitName(record.full_name),
      role: checkBoolean('is_superuser', record.is_superuser) ? 'admin' : 'user',
      // The template has no mark for verified addresses: an account that could log in there can log in here.
      verified: isActive,
      banned: !isActive,
      created_at: record.created_at,
      password_hash: record.hashed_password,
    }
  },
})

export const FASTAPI_TEMPLATE: Source = {
  ...COMMON,
  isUser: (record) => API_TEMPLATE.isUser(record) || FULL_STACK_TEMPLATE.isUser(record),
  fieldsOf: (record) => (FULL_STACK_TEMPLATE.isUser(record) ? FULL_STACK_TEMPLATE : API_TEMPLATE).fieldsOf(record),
  convert(record) {
    if (!FULL_STACK_TEMPLATE.isUser(record)) return API_TEMPLATE.convert(record)
    if (API_TEMPLATE.isUser(record)) throw new Rejected('password, hashed_password: only one of them may be given')
    return FULL_STACK_TEMPLATE.convert(record)
  },
}
