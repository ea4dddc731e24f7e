import { type Html, html } from '../../../shared/html.ts'
import { REVALIDATED, type VersionedAsset } from '../site/assets.ts'

export type ExplorerPage = {
  readonly title: string
  readonly styles: readonly VersionedAsset[]
  /** Scripts that define globals for the start script, which is a module and therefore runs last. */
  readonly libraries: readonly VersionedAsset[]
  readonly start: VersionedAsset
  readonly icon: VersionedAsset
  /** Whether the page must not be able to use the cookie of the console and the account pages. */
  readonly isIsolated: boolean
  /** Redoc creates style sheets with embedded fonts at run time, so their hashes cannot be listed in the policy. */
  readonly drawsOwnStyle: boolean
}

// Without `allow-same-origin`, the scripts of an explorer belong to no origin: their requests carry no cookie, and no page of this
// service lets them read it.
const SANDBOX = 'sandbox allow-scripts allow-forms allow-downloads allow-popups allow-popups-to-escape-sandbox'

/** Allows only files of this service: no inline scripts, no other hosts, no framing. */
export function explorerHeaders({ drawsOwnStyle, isIsolated }: ExplorerPage): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${drawsOwnStyle ? " 'unsafe-inline'" : ''}`,
    "img-src 'self' data:",
    ...(drawsOwnStyle ? ['font-src data:'] : []),
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    ...(isIsolated ? [SANDBOX] : []),
  ]
  return { 'content-security-policy': policy.join('; '), 'cache-control': REVALIDATED }
}

/** `root` is the relative path from the page to the root of the service, because a proxy may serve it below any path. */
export function explorerPage({ title, styles, libraries, start, icon }: ExplorerPage, root: './' | '../'): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="${root}${icon.path}">
${styles.map(({ path }) => html`<link rel="stylesheet" href="${root}${path}">`)}
${libraries.map(({ path }) => html`<script defer src="${root}${path}"></script>`)}
<script type="module" src="${root}${start.path}"></script>
</head>
<body>
<div id="explorer" data-document="${root}openapi.json"></div>
<noscript>This page needs JavaScript. The same documentation, for programs: <a href="${root}openapi.json">openapi.json</a></noscript>
</body>
</html>
`
}
