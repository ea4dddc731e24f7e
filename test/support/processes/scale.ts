/** `SLOW=long` asks for the long form of the fault tests, whose figures are in docs/reliability.md. */
export const IS_LONG = process.env['SLOW'] === 'long'

export function scaled<Amount>(short: Amount, long: Amount): Amount {
  return IS_LONG ? long : short
}
