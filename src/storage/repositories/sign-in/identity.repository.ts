import { IDENTITY, IDENTITY_ROW, type Identity, type IdentityRow } from '../../../model/provider.ts'
import { insertInto, type Reads, statement, type Transaction } from '../../database.ts'
import { changes, finds, lists, listsIn, runs } from '../../repository-functions.ts'

const INSERT = statement(`${insertInto(IDENTITY_ROW)} on conflict do nothing`)
const DELETE_ALL = statement<{ readonly provider: string }>('delete from identities where user_id = $1 returning provider')

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
export const listIdentities = listsIn<Identity, [userId: number]>(IDENTITY, 'where user_id = $1 order by connected_at, provider')

/** Where the identities of an account come from. */
export const listConnected = lists<Pick<IdentityRow, 'provider' | 'issuer'>, [userId: number]>(
  'select provider, issuer from identities where user_id = $1',
)

export const deleteIdentity = changes<Transaction, [userId: number, provider: string]>(
  'delete from identities where user_id = $1 and provider = $2',
)

/** Returns the providers of those that it deleted. */
export async function deleteIdentities(tx: Transaction, userId: number): Promise<readonly string[]> {
  return (await tx.all(DELETE_ALL, userId)).map(({ provider }) => provider)
}

/** Remembers that somebody else than the owner of the address may have registered the account. */
export const markUnproven = runs<Transaction, [userId: number]>('insert into unproven_accounts (user_id) values ($1)')

/** Returns whether the account was marked. */
export const clearUnproven = changes<Transaction, [userId: number]>('delete from unproven_accounts where user_id = $1')
