import { type Html, html } from '../../../shared/html.ts'
import type { Site } from '../site/site.ts'

export const PASSWORD_HINT = 'At least 8 characters. A few random words make a strong password.'

/** The way on to the product, where the settings name its address. */
export function toFrontend({ frontendUrl, apiTitle }: Site): Html | undefined {
  return frontendUrl === undefined ? undefined : html`<a class="button primary" href="${frontendUrl}">Continue to ${apiTitle}</a>`
}
