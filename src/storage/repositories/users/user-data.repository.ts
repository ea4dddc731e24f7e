import { USER_DATA, USER_DATA_ROW, type UserData, type UserDataRow } from '../../../model/user.ts'
import { statement, type Transaction } from '../../database.ts'
import { finds, listsIn } from '../../repository-functions.ts'
import { insertRows } from '../../tables.ts'

const SAVE = statement(
  insertRows('user_data', {
    keepsIds: true,
    suffix: 'on conflict (user_id) do update set profile = excluded.profile, app = excluded.app',
  }),
)

/** Two empty objects for an account that has none; undefined if there is no such account. */
export const findUserData = finds<UserData, [userId: number]>(
  `select ${USER_DATA.columns} from users left join user_data on user_data.user_id = users.id where users.id = $1`,
  USER_DATA.fromRow,
)

/** Replaces the objects of these accounts. */
export async function saveUserData(tx: Transaction, rows: readonly UserDataRow[]): Promise<void> {
  await tx.run(SAVE, JSON.stringify(rows.map(USER_DATA_ROW.toRow)))
}

/** The data of the users between two ids: after the first, up to the last. */
export const listUserData = listsIn<UserDataRow, [afterId: number, lastId: number]>(USER_DATA_ROW, 'where user_id > $1 and user_id <= $2')
