import { type Html, html } from '../../../../shared/html.ts'
import type { Texts } from '../../texts/texts.ts'
import { shortText } from './format.ts'

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bLinux\b/, 'Linux'],
]

/** `Firefox on Linux`, as far as a user agent says so, with all of it in its title. It is what the client claims, no more. */
export function clientOf({ sessions }: Texts, userAgent: string | undefined): Html {
  if (userAgent === undefined) return html`${sessions.unknownClient}`
  const nameIn = (names: typeof BROWSERS) => names.find(([pattern]) => pattern.test(userAgent))?.[1]
  const [browser, system] = [nameIn(BROWSERS), nameIn(SYSTEMS)]
  if (browser === undefined) return html`${shortText(userAgent)}`
  return html`<span title="${shortText(userAgent)}">${system === undefined ? browser : sessions.client(browser, system)}</span>`
}
