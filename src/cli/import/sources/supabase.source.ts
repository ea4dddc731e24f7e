import { Rejected } from '../../../domain/import/imported-user.ts'
import { defineSource, isInFuture, objectOf, plain, splitName } from './source.ts'

/** Rows of the table auth.users. */
export const SUPABASE = defineSource({
  title: 'Supabase',
  csvColumns: ['email', 'encrypted_password'],
  mark: 'encrypted_password',
  isUser: (record) => 'encrypted_password' in record && 'email' in record,
  fields: {
    ...plain(
      'email',
      'encrypted_password',
      'email_confirmed_at',
      'confirmed_at',
      'banned_until',
      'created_at',
      'last_sign_in_at',
      'deleted_at',
    ),
    raw_user_meta_data: plain('first_name', 'last_name', 'full_name', 'name'),
  },
  convert(record) {
    if (record.deleted_at) throw new Rejected('the account is marked as deleted')
    const metadata = objectOf(record.raw_user_meta_data)
    const named = { first_name: metadata['first_name'], last_name: metadata['last_name'] }
    const names = named.first_name || named.last_name ? named : splitName(metadata['full_name'] ?? metadata['name'])
    // `confirmed_at` is also set if only the phone number was confirmed. Old versions of the table have no other column.
    const confirmedAt = 'email_confirmed_at' in record ? record.email_confirmed_at : record.confirmed_at
    return {
      email: record.email,
      ...names,
      verified: typeof confirmedAt === 'string',
      banned: isInFuture('banned_until', record.banned_until),
      created_at: record.created_at,
      last_login_at: record.last_sign_in_at,
      password_hash: record.encrypted_password,
    }
  },
})
