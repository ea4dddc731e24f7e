import { IDENTITY, IDENTITY_ROW, type Identity, type IdentityRow } from '../../../model/provider.ts'
import { insertInto, type Reads, statement, type Transaction } from '../../database.ts'
import { changes, exists, finds, lists, runs } from '../../repository-functions.ts'

const INSERT = statement(`${insertInto('identities', IDENTITY_ROW)} on conflict do nothing`)
const DELETE_SOME = statement<{ readonly provider: string }>(
  'delete from identities where user_id = $1 and (proven = false or $2 = true) returning provider',
)

/** False if the identity belongs to an account, or if the account has another one of this provider. */
export async function insertIdentity(tx: Transaction, identity: IdentityRow): Promise<boolean> {
  return (await tx.run(INSERT, ...IDENTITY_ROW.toValues(identity))) === 1
}

/** The id of the account that an identity opens. */
export const findIdentityOwner = finds<number, [issuer: string, subject: string], Reads>(
  'select user_id from identities where issuer = $1 and subject = $2',
  (row) => Number(row['user_id']),
)

/** The oldest first. */
export const listIdentities = lists<Identity, [userId: number]>(
  `select ${IDENTITY.columns} from identities where user_id = $1 order by connected_at, provider`,
  IDENTITY.fromRow,
)

/** Where the identities of an account come from. */
export const listConnected = lists<Pick<IdentityRow, 'provider' | 'issuer'>, [userId: number]>(
  'select provider, issuer from identities where user_id = $1',
)

export const deleteIdentity = changes<Transaction, [userId: number, provider: string]>(
  'delete from identities where user_id = $1 and provider = $2',
)

/** For an identity that is about to be disconnected: if it is not proven, its account stays unproven without it. */
export const rememberUnproven = runs<Transaction, [userId: number, provider: string]>(`
  insert into unproven_accounts (user_id) select user_id from identities where user_id = $1 and provider = $2 and proven = false
  on conflict do nothing`)

/** Returns whether the account was remembered as unproven. */
export const forgetUnproven = changes<Transaction, [userId: number]>('delete from unproven_accounts where user_id = $1')

/** Whether an identity opens the account, or has opened it, that somebody may have connected who is not the owner of the address. */
export const isUnproven = exists<Transaction, [userId: number]>(`
  select user_id from identities where user_id = $1 and proven = false
  union all select user_id from unproven_accounts where user_id = $1 limit 1`)

/** Returns the providers of those that it deleted. */
export async function deleteIdentities(tx: Transaction, userId: number, which: 'all' | 'unproven'): Promise<readonly string[]> {
  return (await tx.all(DELETE_SOME, userId, which === 'all')).map(({ provider }) => provider)
}
