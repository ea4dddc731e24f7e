import { defineSource, isTrue, splitName } from './source.ts'

/** Rows of the table user of the full-stack FastAPI template. */
export const FASTAPI_TEMPLATE = defineSource({
  title: 'FastAPI template',
  csvColumns: ['email', 'hashed_password'],
  mark: 'hashed_password',
  isUser: (record) => 'hashed_password' in record,
  fields: { email: true, hashed_password: true, full_name: true, is_superuser: true, is_active: true, created_at: true },
  convert: (record) => ({
    email: record.email,
    ...splitName(record.full_name),
    role: isTrue(record.is_superuser) ? 'admin' : 'user',
    // The template has no mark for verified addresses: an account that could log in there can log in here.
    verified: isTrue(record.is_active ?? true),
    banned: !isTrue(record.is_active ?? true),
    created_at: record.created_at,
    password_hash: record.hashed_password,
  }),
})
