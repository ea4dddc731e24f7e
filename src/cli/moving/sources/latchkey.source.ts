import type { Source } from './source.ts'

export const LATCHKEY: Source = {
  title: 'Latchkey',
  mark: 'email',
  isUser: (record) => 'email' in record,
  hasPlaintext: ({ password }) => typeof password === 'string' && password !== '',
  convert: (record) => record,
}

/** The names of the header are those of the format of Latchkey. */
export const CSV: Source = { ...LATCHKEY, title: 'CSV', csvColumns: ['email'] }
