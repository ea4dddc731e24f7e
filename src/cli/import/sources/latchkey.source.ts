import { USER_FIELDS } from '../../../domain/import/imported-user.ts'
import { defineSource, type Source } from './source.ts'

export const LATCHKEY = defineSource({
  title: 'Latchkey',
  mark: 'email',
  isUser: (record) => 'email' in record,
  fields: USER_FIELDS,
  convert: (record) => record,
})

/** The names of the header are those of the format of Latchkey. */
export const CSV: Source = { ...LATCHKEY, title: 'CSV', csvColumns: ['email'] }
