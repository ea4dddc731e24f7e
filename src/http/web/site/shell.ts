import type { FastifyReply } from 'fastify'
import type { User } from '../../../model/user.ts'
import { type Html, html, renderHtml } from '../../../shared/html.ts'
import type { PageArea } from '../../pipeline/declarations.ts'
import type { Texts } from '../texts/texts.ts'
import { BAD_NOTICES, NEUTRAL_NOTICES, type Notice, noticeText } from './messages.ts'
import type { Site } from './site.ts'

/** What a page without navigation needs. */
type LoneSite = Pick<Site, 'apiTitle' | 'root' | 'assets' | 'hasOwnLogo'>
type Names = Texts['navigation']

/** The content of a page. The shell around it depends on the area and on the caller. */
export type Page = {
  readonly title: string
  readonly content: Html
  /** The state of what the page is about, after its title. */
  readonly badges?: Html | undefined
  /** Shown beside the title: links and buttons. */
  readonly actions?: Html | undefined
  /** The page above this one. */
  readonly back?: { readonly path: string; readonly text: string } | undefined
  /** A page with one form or one message, without navigation. */
  readonly isLone?: boolean | undefined
  /** The address contains what a mail gives access with. */
  readonly hasSecretAddress?: boolean | undefined
  /** The origin of the product that its form leads to in the end. Chromium would stop there otherwise. */
  readonly formOrigin?: string | undefined
  /** For a page that says that something has failed. */
  readonly status?: number
}

/** Who sees the page, and where. */
type View = { readonly area: PageArea; readonly user: User | undefined; readonly notice?: Notice | undefined; readonly status?: number }

/** Only files of this service, no inline code, no frame of another site. A form still says which site it comes from. */
const FORMS = "form-action 'self'"
const SITE_POLICY = `default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; frame-src 'self'; ${FORMS}; frame-ancestors 'none'; base-uri 'none'`
export const SITE_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': SITE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'same-origin',
}

/**
 * The pages with a secret in their address: no other request gets to know it. With `no-referrer`, a browser would hide the origin of their
 * forms as well.
 */
const SECRET_ADDRESS_HEADERS: Readonly<Record<string, string>> = { ...SITE_HEADERS, 'referrer-policy': 'strict-origin' }

/** The pages that belong to no area: the start page, the pages of links in mails, and errors. They have no script. */
export const PUBLIC_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
}

type Entry = readonly [path: string, text: string | ((names: Names) => string)]

const NAVIGATION: Readonly<Record<PageArea, readonly Entry[]>> = {
  console: [
    ['/console/', 'Overview'],
    ['/console/users', 'Users'],
    ['/console/keys', 'API keys'],
    ['/console/mail', 'Mail'],
    ['/console/webhooks', 'Webhooks'],
    ['/console/audit', 'Audit'],
    ['/console/status', 'Status'],
    ['/console/settings', 'Settings'],
  ],
  account: [
    ['/account/', ({ profile }) => profile],
    ['/account/password', ({ password }) => password],
    ['/account/security', ({ security }) => security],
    ['/account/sessions', ({ sessions }) => sessions],
    ['/account/keys', ({ keys }) => keys],
  ],
}

/** Sends a page of an area, in the language of the request. */
export function sendSitePage(reply: FastifyReply, site: Site, { area, user, notice, status }: View, page: Page): FastifyReply {
  const { url, routeOptions, texts } = reply.request
  const shownNotice = notice && noticeOf(texts, notice)
  const body =
    page.isLone || user === undefined ? lonePage(site, page, shownNotice) : shellPage(site, { area, url, user, texts }, page, shownNotice)
  const script = html`\n<script defer src="${site.root}/${site.assets.script.path}"></script>`
  return site.texts
    .describe(reply)
    .code(status ?? page.status ?? 200)
    .headers(routeOptions.config.queryToken === undefined && !page.hasSecretAddress ? SITE_HEADERS : SECRET_ADDRESS_HEADERS)
    .headers(page.formOrigin === undefined ? {} : { 'content-security-policy': SITE_POLICY.replace(FORMS, `${FORMS} ${page.formOrigin}`) })
    .type('text/html; charset=utf-8')
    .send(renderHtml(wholePage(site, texts, page.title, body, script)))
}

/** A page that belongs to no area. */
export function renderPublicPage(site: LoneSite, texts: Texts, title: string, content: Html): Html {
  return wholePage(site, texts, title, lonePage(site, { title, content }))
}

function wholePage(site: LoneSite, { language }: Texts, title: string, body: Html, script?: Html): Html {
  const { style, logo } = site.assets
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · ${site.apiTitle}</title>
<link rel="icon" href="${site.root}/${logo.path}">
<link rel="stylesheet" href="${site.root}/${style.path}">${script}
</head>
${body}
</html>
`
}

function lonePage(site: LoneSite, { title, content }: Page, notice?: Html): Html {
  return html`<body class="lone">
<main>
<p class="brand">${logoOf(site)}${site.apiTitle}</p>
<h1>${title}</h1>
${notice}${content}
</main>
</body>`
}

type Place = { readonly area: PageArea; readonly url: string; readonly user: User; readonly texts: Texts }

function shellPage(site: Site, { area, url, user, texts }: Place, { title, content, badges, actions, back }: Page, notice?: Html): Html {
  const { root } = site
  const { navigation, buttons } = texts
  const entries = NAVIGATION[area]
  const [path = ''] = url.split('?')
  // A form that is shown again may have another path: it belongs to the first page.
  const current = entries.slice(1).find(([to]) => path === to || path.startsWith(`${to}/`)) ?? entries[0]
  const link = (entry: Entry) =>
    html`<li><a href="${root}${entry[0]}"${entry === current ? html` aria-current="page"` : ''}>${typeof entry[1] === 'string' ? entry[1] : entry[1](navigation)}</a></li>`
  return html`<body>
<a class="skip" href="#content">${navigation.skip}</a>
<div class="shell">
<header class="side">
<a class="brand" href="${root}/${area}/">${logoOf(site)}${site.apiTitle}</a>
${area === 'console' ? html`<details class="menu"><summary class="button small">Menu</summary></details>\n` : undefined}<nav aria-label="${area === 'console' ? 'Console' : navigation.label}"><ul>
${entries.map(link)}
</ul></nav>
<div class="who"><p class="clip" title="${user.email}">${user.email}</p>
<div class="actions">${otherArea(site, navigation, area, user)}<form method="post" action="${root}/${area}/sign-out"><button class="small">${buttons.signOut}</button></form></div></div>
</header>
<main id="content" tabindex="-1">
<div class="title"><div>${back && html`<a class="back" href="${root}${back.path}">← ${back.text}</a>`}<div class="headline"><h1>${title}</h1>${badges}</div></div>
${actions && html`<div class="actions">${actions}</div>`}</div>
${notice}${content}
</main>
</div>
</body>`
}

function logoOf({ root, assets, hasOwnLogo }: LoneSite): Html {
  // A logo of the operator may be wide.
  if (hasOwnLogo) return html`<img class="logo" src="${root}/${assets.logo.path}" alt="" height="28">`
  return html`<img src="${root}/${assets.logo.path}" alt="" width="24" height="24">`
}

/** Admins have both areas; everybody else has the account pages only. */
function otherArea({ root, isEnabled }: Site, names: Names, area: PageArea, { role }: User): Html | undefined {
  const other = area === 'console' ? 'account' : 'console'
  if (!isEnabled[other] || (other === 'console' && role !== 'admin')) return undefined
  return html`<a class="button small" href="${root}/${other}/">${other === 'console' ? names.console : names.account}</a>`
}

function noticeOf(texts: Texts, notice: Notice): Html {
  const text = noticeText(texts, notice)
  if (BAD_NOTICES.has(notice)) return html`<p class="notice bad" role="alert">${text}</p>\n`
  return html`<p class="notice${NEUTRAL_NOTICES.has(notice) ? '' : ' good'}" role="status">${text}</p>\n`
}
