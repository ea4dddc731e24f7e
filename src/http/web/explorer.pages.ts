import { type Html, html } from '../../shared/html.ts'
import { REVALIDATED } from './assets.ts'
import type { ExplorerAsset } from './explorer.assets.ts'

export type ExplorerPage = {
  readonly title: string
  readonly styles: readonly ExplorerAsset[]
  /** Scripts that define globals for the start script, which is a module and therefore runs last. */
  readonly libraries: readonly ExplorerAsset[]
  readonly start: ExplorerAsset
  readonly icon: ExplorerAsset
  /** Redoc creates style sheets with embedded fonts at run time, so their hashes cannot be listed in the policy. */
  readonly drawsOwnStyle: boolean
}

/** Allows only files of this service: no inline scripts, no other hosts, no framing. */
export function explorerHeaders({ drawsOwnStyle }: ExplorerPage): Readonly<Record<string, string>> {
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
