import { Rejected } from '../../../domain/import/imported-user.ts'
import { defineSource, isInFuture, objectOf, splitName } from './source.ts'

/** Rows of the table auth.users. */
export const SUPABASE = defineSource({
  title: 'Supabase',
  csvColumns: ['email', 'encrypted_password'],
  mark: 'encrypted_password',
  isUser: (record) => 'encrypted_password' in record && 'email' in record,
  fields: {
    email: true,
    encrypted_password: true,
    email_confirmed_at: true,
    confirmed_at: true,
    banned_until: true,
    raw_user_meta_data: { first_name: true, last_name: true, full_name: true, name: true },
    created_at: true,
    last_sign_in_at: true,
    deleted_at: true,
  },
  convert(record) {
    if (record.deleted_at) throw new Rejected('the account is marked as deleted')
    const metadata = objectOf(record.raw_user_meta_data)
    const named = { first_name: metadata['first_name'], last_name: metadata['last_name'] }
    const names = named.first_name || named.last_name ? named : splitName(metadata['full_name'] ?? metadata['name'])
    return {
      email: record.email,
      ...names,
      verified: typeof confirmedAt(record) === 'string',
      banned: isInFuture('banned_until', record.banned_until),
      created_at: record.created_at,
      last_login_at: record.last_sign_in_at,
      password_hash: record.encrypted_password,
    }
  },
})

/** `confirmed_at` is also set if only the phone number was confirmed. Old versions of the table have no other column. */
function confirmedAt(record: { readonly email_confirmed_at?: unknown; readonly confirmed_at?: unknown }): unknown {
  return 'email_confirmed_at' in record ? record.email_confirmed_at : record.confirmed_at
}
