import { encode } from 'uqr'
import { type Html, html } from '../../../../shared/html.ts'

// The quiet zone of the standard, which cameras need.
const BORDER = 4

/** A QR code as part of a page: nothing is loaded, and no other service learns what it contains. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER })
  return html`<svg class="qr" width="${4 * size}" height="${4 * size}" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}"><path d="${data.map(rowPath).join('')}"/></svg>`
}

/** The dark parts of a row, one move and one bar for each. */
function rowPath(row: readonly boolean[], y: number): string {
  const text = row.map((isDark) => (isDark ? '#' : ' ')).join('')
  return [...text.matchAll(/#+/g)].map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`).join('')
}
