const ASCII = /^[\x20-\x7e]*$/
// Created when it is needed, because that takes 20 ms.
let graphemes: Intl.Segmenter | undefined
// Combining marks, format characters and the vowels and final consonants of a composed Hangul syllable.
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff\ud7b0-\ud7fb]/u
// The blocks whose characters are Wide or Fullwidth in Unicode's EastAsianWidth.txt.
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\u3247\u3250-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u
const EMOJI = /^(?:\p{Emoji_Presentation}|\p{Emoji}\ufe0f|\p{Regional_Indicator}{2})/u

/** How many columns of a terminal a text takes. An emoji or an East Asian character takes two, a combining mark none. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  graphemes ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment)
  return width
}

/** An emoji may be made of several characters and is drawn as one. Other characters are drawn one by one. */
function graphemeWidth(grapheme: string): number {
  if (EMOJI.test(grapheme)) return 2
  let width = 0
  for (const character of grapheme) width += INVISIBLE.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}

export function padText(text: string, toWidth: number): string {
  return text + ' '.repeat(Math.max(0, toWidth - textWidth(text)))
}

const EXCERPT_LENGTH = 100

/** The beginning of a text. */
export function excerpt(text: string): string {
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text
}
