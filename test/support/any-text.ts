import fc from 'fast-check'

const SURROGATES = { first: 0xd800, count: 0x800 }

/** Every character of Unicode. `unit: 'binary'` of fast-check does the same with a table of all of them, which takes a second to build. */
const character = fc.nat(0x10ffff - SURROGATES.count).map(
  (number) => String.fromCodePoint(number < SURROGATES.first ? number : number + SURROGATES.count),
  // With the inverse, fast-check adds strings that are dangerous in JavaScript, such as __proto__.
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined
    if (code === undefined || text !== String.fromCodePoint(code)) throw new Error('not one character')
    return code < SURROGATES.first ? code : code - SURROGATES.count
  },
)

export function anyText(length: Readonly<{ minLength?: number; maxLength?: number }> = {}): fc.Arbitrary<string> {
  return fc.string({ ...length, unit: character })
}
