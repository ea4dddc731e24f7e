import { computed, entity, flag } from '../../../model/entity.ts'
import { PASSKEY_ROW, type PasskeyRow, RECOVERY_CODE, type RecoveryCode, TOTP_SECRET, type TotpSecret } from '../../../model/factor.ts'
import { type ExportedIdentity, IDENTITY_ROW, type IdentityRow } from '../../../model/provider.ts'
import { type Reads, statement, type Transaction } from '../../database.ts'
import { listsIn } from '../../repository-functions.ts'
import { around, GIVEN_IDS, insertRows } from '../../tables.ts'

// A code that was accepted here is not accepted again, whatever the file says.
const SAVE_TOTP = statement(
  insertRows('totp_secrets', {
    keepsIds: true,
    suffix: `on conflict (user_id) do update set secret = excluded.secret, sealed_with = excluded.sealed_with,
      created_at = excluded.created_at, confirmed_at = excluded.confirmed_at, salt = excluded.salt,
      last_step = case when excluded.last_step > totp_secrets.last_step then excluded.last_step else totp_secrets.last_step end`,
  }),
)
const LIST_TOTP = statement(
  around(GIVEN_IDS, (given) => `select ${TOTP_SECRET.columns} from totp_secrets where user_id ${given}`),
  TOTP_SECRET.fromRow,
)
const SET_TOTP = statement(around(GIVEN_IDS, (given) => `update users set totp = true where id ${given}`))
const DELETE_CODES = statement(around(GIVEN_IDS, (given) => `delete from recovery_codes where user_id ${given}`))
const INSERT_CODES = statement(insertRows('recovery_codes', { keepsIds: true }))
const INSERT_PASSKEYS = statement<{ user_id: number }>(
  insertRows('passkeys', { keepsIds: true, suffix: 'on conflict do nothing returning user_id' }),
)
const COUNT_PASSKEYS = statement(
  around(GIVEN_IDS, (given) => `update users set passkeys = (select count(*) from passkeys where user_id = users.id) where id ${given}`),
)
/** The users between two ids: after the first, up to the last. */
type Range = [afterId: number, lastId: number]
const IN_RANGE = 'where user_id > $1 and user_id <= $2'
const listExportedTotp = listsIn<TotpSecret, Range>(TOTP_SECRET, `${IN_RANGE} order by user_id`)
const listExportedCodes = listsIn<RecoveryCode, Range>(RECOVERY_CODE, `${IN_RANGE} order by code_hash`)
const listExportedPasskeys = listsIn<PasskeyRow, Range>(PASSKEY_ROW, `${IN_RANGE} order by created_at, id`)

// PostgreSQL looks up each account, rather than read the table for every page of an export.
const EXPORTED_IDENTITY = entity('identities', {
  ...IDENTITY_ROW.fields,
  proven: computed(flag, '(select count(*) from unproven_accounts where unproven_accounts.user_id = identities.user_id) = 0'),
})
export const listExportedIdentities = listsIn<ExportedIdentity, Range>(EXPORTED_IDENTITY, `${IN_RANGE} order by connected_at, provider`)
const INSERT_IDENTITIES = statement<{ issuer: string; subject: string }>(
  insertRows('identities', { keepsIds: true, suffix: 'on conflict do nothing returning issuer, subject' }),
)
const MARK_UNPROVEN = statement(insertRows('unproven_accounts', { keepsIds: true, suffix: 'on conflict do nothing' }))
const IDENTITY_OWNERS = statement<{ issuer: string; subject: string; email_key: string }>(
  around(
    {
      postgres:
        '(identities.issuer, identities.subject) in (select issuer, subject from json_populate_recordset(null::identities, $1::text::json))',
      sqlite: `(identities.issuer, identities.subject) in (select value ->> 'issuer', value ->> 'subject' from json_each($1))`,
    },
    (given) =>
      `select identities.issuer, identities.subject, users.email_key from identities join users on users.id = identities.user_id where ${given}`,
  ),
)

/** The secrets that these accounts have, also those that are not confirmed yet. */
export function listTotpSecrets(tx: Transaction, userIds: readonly number[]): Promise<TotpSecret[]> {
  return tx.all(LIST_TOTP, JSON.stringify(userIds))
}

/** Turns codes on, with these recovery codes in place of those that the accounts have. */
export async function saveImportedCodes(tx: Transaction, secrets: readonly TotpSecret[], codes: readonly RecoveryCode[]): Promise<void> {
  const userIds = JSON.stringify(secrets.map(({ userId }) => userId))
  await tx.run(SAVE_TOTP, JSON.stringify(secrets.map(TOTP_SECRET.toRow)))
  await tx.run(DELETE_CODES, userIds)
  await tx.run(INSERT_CODES, JSON.stringify(codes.map(RECOVERY_CODE.toRow)))
  await tx.run(SET_TOTP, userIds)
}

/** Inserts passkeys. One that exists is left as it is. Returns the accounts that have a new one. */
export async function insertImportedPasskeys(tx: Transaction, passkeys: readonly PasskeyRow[]): Promise<readonly number[]> {
  const rows = await tx.all(INSERT_PASSKEYS, JSON.stringify(passkeys.map(PASSKEY_ROW.toRow)))
  const userIds = [...new Set(rows.map(({ user_id }) => user_id))]
  await tx.run(COUNT_PASSKEYS, JSON.stringify(userIds))
  return userIds
}

/** What these users have besides their passwords. */
export async function listExportedFactors(db: Reads, afterId: number, lastId: number) {
  return {
    totp: new Map((await listExportedTotp(db, afterId, lastId)).map((secret) => [secret.userId, secret])),
    codes: Map.groupBy(await listExportedCodes(db, afterId, lastId), ({ userId }) => userId),
    passkeys: Map.groupBy(await listExportedPasskeys(db, afterId, lastId), ({ userId }) => userId),
  }
}

/** Inserts accounts of other providers. One that exists is left as it is. Returns those that are new. */
export async function insertImportedIdentities<Row extends IdentityRow>(tx: Transaction, identities: readonly Row[]): Promise<Row[]> {
  const byName = new Map(identities.map((identity) => [`${identity.issuer} ${identity.subject}`, identity]))
  const rows = await tx.all(INSERT_IDENTITIES, JSON.stringify(identities.map(IDENTITY_ROW.toRow)))
  return rows.flatMap(({ issuer, subject }) => byName.get(`${issuer} ${subject}`) ?? [])
}

/** Remembers that others than the owners of the addresses may have registered these accounts. */
export async function markImportedUnproven(tx: Transaction, userIds: readonly number[]): Promise<void> {
  await tx.run(MARK_UNPROVEN, JSON.stringify(userIds.map((userId) => ({ user_id: userId }))))
}

/** The address of the owner of each of these identities that exists. */
export function listIdentityOwners(tx: Transaction, identities: readonly Pick<IdentityRow, 'issuer' | 'subject'>[]) {
  return tx.all(IDENTITY_OWNERS, JSON.stringify(identities.map(({ issuer, subject }) => ({ issuer, subject }))))
}
