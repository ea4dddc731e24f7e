import type { Brand, BrandColors } from '../../model/brand.ts'
import type { Language } from '../../model/language.ts'
import { type Html, html, renderHtml } from '../../shared/html.ts'
import { DE } from './texts/de.ts'
import { EN, type MailTexts } from './texts/en.ts'
import { ES } from './texts/es.ts'
import { FR } from './texts/fr.ts'

export type MailContent = {
  readonly language: Language
  readonly title: string
  readonly heading: string
  readonly greeting: string
  readonly intro: string
  /** What the mail is about, one per line. */
  readonly items?: readonly string[] | undefined
  /** A notice has no link. */
  readonly link?: { readonly action: string; readonly url: string } | undefined
  /** How long the link works, and what to do if the mail was not requested. */
  readonly notes: readonly string[]
  readonly footer: string
}

/** The colours of a mail without BRAND_COLOR. */
export const MAIL_COLORS: BrandColors = {
  light: { fill: '#2457d6', onFill: '#ffffff', text: '#2457d6' },
  dark: { fill: '#6d9bff', onFill: '#0b1220', text: '#8fb2ff' },
}

/** The address of the logo in the HTML part: an image that the mail itself contains. */
export const LOGO_ADDRESS = 'cid:logo@latchkey'
const LOGO_MAX_HEIGHT = 40
const LOGO_MAX_WIDTH = 240

const FONT = html`font-family:-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,Helvetica,Arial,sans-serif`

export function textBody({ greeting, intro, items = [], link, notes, footer }: MailContent): string {
  const list = items.map((item) => `- ${item}`).join('\n')
  const parts = [greeting, intro, list, link?.url ?? '', ...notes, `-- \n${footer}`]
  return parts
    .filter((part) => part !== '')
    .join('\n\n')
    .concat('\n')
}

/**
 * Every mail client supports tables and inline styles; the style sheet adds dark colours and narrow screens where it is supported. Nothing
 * is loaded from the network.
 */
export function htmlBody(content: MailContent, brand: Brand): string {
  return renderHtml(mailPage(content, brand))
}

function mailPage({ language, title, heading, greeting, intro, items = [], link, notes, footer }: MailContent, brand: Brand): Html {
  const { light, dark } = brand.colors ?? MAIL_COLORS
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="x-apple-disable-message-reformatting">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">
<title>${heading}</title>
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 480px) {
  .outer { padding: 16px 12px !important; }
  .card { padding: 28px 22px !important; }
  .action { width: 100% !important; }
  .button a { display: block !important; }
}
@media (prefers-color-scheme: dark) {
  body, .page { background-color: #0f1216 !important; }
  .card { background-color: #191e25 !important; border-color: #2a313b !important; }
  .strong { color: #f2f4f7 !important; }
  .body { color: #d3d9e1 !important; }
  .note, .footer { color: #9aa4b2 !important; }
  .button { background-color: ${dark.fill} !important; }
  .button a { color: ${dark.onFill} !important; }
  .rule { border-color: #2a313b !important; }
  .link { color: ${dark.text} !important; }
}
</style>
</head>
<body class="page" style="margin:0;padding:0;background-color:#f3f5f8;-webkit-text-size-adjust:100%">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${notes[0] ?? intro}</div>
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="background-color:#f3f5f8">
<tr><td class="outer" align="center" style="padding:40px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:520px;table-layout:fixed;overflow-wrap:anywhere;word-break:break-word">
<tr><td class="strong" style="padding:0 4px 16px;${FONT};font-size:16px;line-height:24px;font-weight:600;color:#1b2330">${letterhead(title, brand)}</td></tr>
<tr><td class="card" style="padding:36px 40px;background-color:#ffffff;border:1px solid #e2e6ec;border-radius:12px;${FONT}">
<h1 class="strong" style="margin:0 0 20px;font-size:22px;line-height:30px;font-weight:600;color:#1b2330">${heading}</h1>
${paragraph('body', 'margin:0 0 12px;font-size:16px;line-height:25px;color:#333d4b', greeting)}
${paragraph('body', 'margin:0 0 26px;font-size:16px;line-height:25px;color:#333d4b', intro)}
${items.map((item) => paragraph('body', 'margin:0 0 12px;padding:0 0 0 14px;border-left:3px solid #c9d0da;font-size:16px;line-height:25px;color:#333d4b', item))}
${link === undefined ? '' : button(link, light)}
${notes.map((note) => paragraph('note', 'margin:0 0 8px;font-size:14px;line-height:21px;color:#5b6472', note))}
${link === undefined ? '' : plainLink(link.url, TEXTS[language].plainLink, light)}
</td></tr>
<tr><td class="footer" style="padding:18px 4px 0;${FONT};font-size:12px;line-height:18px;color:#6a7380">${footer}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`
}

/** A PNG logo, whose alternative text is the title; otherwise the title. */
function letterhead(title: string, { logo }: Brand): Html {
  if (logo?.type !== 'png') return html`${title}`
  const scale = Math.min(1, LOGO_MAX_HEIGHT / logo.height, LOGO_MAX_WIDTH / logo.width)
  const width = Math.max(1, Math.round(logo.width * scale))
  const height = Math.max(1, Math.round(logo.height * scale))
  return html`<img src="${LOGO_ADDRESS}" width="${width}" height="${height}" alt="${title}" style="display:block;border:0">`
}

function button({ action, url }: NonNullable<MailContent['link']>, light: BrandColors['light']): Html {
  return html`<table role="presentation" class="action" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 28px">
<tr><td class="button" align="center" bgcolor="${light.fill}" style="border-radius:8px;background-color:${light.fill}">
<a href="${url}" target="_blank" rel="noopener" style="display:inline-block;padding:13px 26px;${FONT};font-size:16px;line-height:22px;font-weight:600;color:${light.onFill};text-decoration:none;border-radius:8px">${action}</a>
</td></tr>
</table>`
}

function plainLink(url: string, label: string, light: BrandColors['light']): Html {
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:20px 0 0">
<tr><td class="rule" style="padding:20px 0 0;border-top:1px solid #e2e6ec;${FONT}">
${paragraph('note', 'margin:0 0 6px;font-size:13px;line-height:20px;color:#5b6472', label)}
<p style="margin:0;font-size:13px;line-height:20px;word-break:break-all"><a class="link" href="${url}" style="color:${light.text};text-decoration:underline">${url}</a></p>
</td></tr>
</table>`
}

function paragraph(className: string, style: string, text: string): Html {
  return html`<p class="${className}" style="${style}">${text}</p>`
}

export const TEXTS: Readonly<Record<Language, MailTexts>> = { en: EN, de: DE, fr: FR, es: ES }
