/** `SLOW=long` runs the long form of the slow tests, whose figures are in docs/evidence.md. */
export const IS_LONG = process.env['SLOW'] === 'long'

export function scaled<Amount>(short: Amount, long: Amount): Amount {
  return IS_LONG ? long : short
}
