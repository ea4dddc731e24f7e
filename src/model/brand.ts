/** What the settings say about the appearance of pages and mails. */
export type Brand = { readonly colors: BrandColors | undefined; readonly logo: Logo | undefined }

export const NO_BRAND: Brand = { colors: undefined, logo: undefined }

/** The logo of BRAND_LOGO. Mail programs do not show SVG, so that only a PNG appears in mails. */
export type Logo = PngLogo | { readonly type: 'svg'; readonly bytes: Buffer }

type PngLogo = { readonly type: 'png'; readonly bytes: Buffer; readonly width: number; readonly height: number }

/** The colours that a brand colour becomes in one colour scheme. */
export type SchemeColors = {
  /** For areas, such as a button. */
  readonly fill: string
  /** For text on such an area. */
  readonly onFill: string
  /** For text on the ground, such as a link. */
  readonly text: string
}

export type BrandColors = { readonly light: SchemeColors; readonly dark: SchemeColors }

type Rgb = readonly [number, number, number]

const WHITE: Rgb = [255, 255, 255]
const BLACK: Rgb = [0, 0, 0]
// The grounds of pages and mails that leave the least contrast to text.
const LIGHT_GROUND: Rgb = [0xee, 0xf1, 0xf5]
const DARK_GROUND: Rgb = [0x25, 0x2c, 0x36]
/** The contrast that WCAG 2.2 requires of text (1.4.3). */
const TEXT_CONTRAST = 4.5
/** A button is recognised by its text; this only keeps a white button from disappearing on a white page. */
const FILL_CONTRAST = 1.25
const STEPS = 50

/** Derives readable colours from `#rrggbb`. The brand colour itself is kept for areas wherever they remain visible. */
export function brandColors(color: string): BrandColors {
  const brand = parseColor(color)
  return { light: schemeColors(brand, LIGHT_GROUND, BLACK), dark: schemeColors(brand, DARK_GROUND, WHITE) }
}

function schemeColors(brand: Rgb, ground: Rgb, ink: Rgb): SchemeColors {
  const fill = shiftedUntil(brand, ground, ink, FILL_CONTRAST)
  return { fill: format(fill), onFill: format(readableOn(fill)), text: format(shiftedUntil(brand, ground, ink, TEXT_CONTRAST)) }
}

/** Mixes a colour with the ink until it has the contrast, on the side of the ink: other grounds of the scheme are further away from it. */
function shiftedUntil(color: Rgb, ground: Rgb, ink: Rgb, required: number): Rgb {
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(color, ink, step / STEPS)
    const isBeyondGround = luminance(mixed) > luminance(ground) === luminance(ink) > luminance(ground)
    if (isBeyondGround && contrast(mixed, ground) >= required) return mixed
  }
  return ink
}

/** Black or white: one of them has a contrast of 4.5 or more to every colour. */
function readableOn(color: Rgb): Rgb {
  return contrast(color, WHITE) >= TEXT_CONTRAST ? WHITE : BLACK
}

function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const channel = (index: 0 | 1 | 2) => Math.round(one[index] * (1 - share) + other[index] * share)
  return [channel(0), channel(1), channel(2)]
}

/** The contrast of two colours, from 1 to 21, as WCAG 2.2 defines it. */
export function contrastOf(one: string, other: string): number {
  return contrast(parseColor(one), parseColor(other))
}

function contrast(one: Rgb, other: Rgb): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance([red, green, blue]: Rgb): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function linear(channel: number): number {
  const share = channel / 255
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
}

function parseColor(color: string): Rgb {
  const channel = (start: number) => Number.parseInt(color.slice(start, start + 2), 16)
  return [channel(1), channel(3), channel(5)]
}

function format(color: Rgb): string {
  return `#${color.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}
