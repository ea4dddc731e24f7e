import type { Plan } from '../../../domain/values/plans.ts'
import type { ApiKey } from '../../../model/api-key.ts'
import type { DailyUse } from '../../../model/usage.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { deletionCard, fact, keyBadge, keyPrefix, NEVER, splitCard } from '../site/elements/cards.ts'
import { useCard } from '../site/elements/charts.ts'
import { actionForm, type Form, formOf, selectField } from '../site/elements/fields.ts'
import { ageOf, limitsText, timeOf } from '../site/elements/format.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'

const OVERLAPS: readonly (readonly [seconds: number, text: string])[] = [
  [0, 'Stops working at once'],
  [3600, 'Works for one more hour'],
  [86_400, 'Works for one more day'],
  [604_800, 'Works for seven more days'],
]
export const LIMIT_FIELD = {
  schema: Type.Optional(Type.String({ maxLength: 12 })),
  label: 'Limit',
  hint: 'How often services accept the key, such as 10/m: a number per s, m, h or d. Leave it empty for no limit of this key.',
  isOptional: true,
} as const

export type ShownKey = {
  readonly secret: string | undefined
  readonly place: string
  readonly use: readonly DailyUse[]
  /** The plan of the owner; undefined without PLANS. */
  readonly plan: Plan | undefined
  /** The form of the limit that was refused. */
  readonly limitForm?: Form<'limit'>
}

/** The page of a key. The secret is known only on the visit that follows its creation. The page leads back to a place in the list. */
export function keyPage(site: Site, key: ApiKey, { secret, place, use, plan, limitForm }: ShownKey): Page {
  const base = `${site.root}/account/keys/${key.id}`
  const content = html`${secret === undefined ? undefined : secretCard(secret)}
${factsCard(key, site.now())}
${useCard(use, 'this key')}
${limitCard(`${base}/limit${place}`, key, plan, limitForm)}
${rotateCard(base, place)}
${deletionCard({
  title: 'Delete this key',
  text: 'Programs that use this key stop working at once. This cannot be undone. To stop them for a while, disable the key.',
  action: `${base}/delete${place}`,
  name: key.name,
})}`
  return {
    title: key.name,
    content,
    badges: keyBadge(key, site.now()),
    actions: switchForm(base, place, key, ''),
    back: { path: `/account/keys${place}`, text: 'API keys' },
  }
}

function secretCard(secret: string): Html {
  return html`<section class="card" aria-labelledby="secret"><h2 id="secret">Your new key</h2>
<p class="notice warn" role="status">Copy it now. It is shown only once, and nobody can look it up later.</p>
<div class="secret"><input class="mono" id="key" aria-label="API key" value="${secret}" readonly><button class="primary" data-copy="key" hidden>Copy</button></div>
<p class="hint">Programs send it in the header <code>X-API-Key</code>.</p></section>\n`
}

function factsCard(key: ApiKey, now: number): Html {
  const { access, scopes, createdAt, expiresAt, limit, lastUsedAt, retiringUntil } = key
  return html`<section class="card" aria-label="Key"><dl class="strip">
${fact('Begins with', keyPrefix(key))}
${fact('Access', html`${access}`)}
${fact('Scopes', scopes.length === 0 ? html`<span class="quiet">none</span>` : html`<span class="mono">${scopes.join(' ')}</span>`)}
${fact('Created', timeOf(createdAt))}
${fact('Expires', expiresAt === undefined ? NEVER : timeOf(expiresAt))}
${fact('Limit', limit === undefined ? html`<span class="quiet">none</span>` : limit)}
${fact('Last used', lastUsedAt === undefined ? NEVER : ageOf(lastUsedAt, now))}
${retiringUntil === undefined ? undefined : fact('Former secret', html`works until ${timeOf(retiringUntil)}`)}
</dl></section>`
}

function limitCard(action: string, { limit }: ApiKey, plan: Plan | undefined, retried?: Form<'limit'>): Html {
  const { problem, field } = retried ?? formOf({ limit: LIMIT_FIELD })
  return splitCard({
    id: 'limits',
    title: 'Limit',
    text: `A limit protects you from a program that runs wild.${plan === undefined ? '' : ` All your keys together may make ${limitsText(plan.limits)}.`}`,
    content: html`<form class="form" method="post" action="${action}">
${problem}${field('limit', { value: limit ?? '' })}
<div class="actions"><button>Save limit</button></div>
</form>`,
  })
}

function rotateCard(base: string, place: string): Html {
  return splitCard({
    id: 'rotation',
    title: 'Rotate this key',
    text: 'The key gets a new secret. Everything else stays the same.',
    content: html`<form class="form" method="post" action="${base}/rotate${place}">
${selectField({ name: 'overlap_seconds', label: 'Current secret', choices: OVERLAPS })}
<div class="actions"><button>Rotate</button></div>
</form>`,
  })
}

export function switchForm(base: string, place: string, { isActive }: ApiKey, kind: '' | 'small'): Html {
  return isActive ? actionForm(`${base}/disable${place}`, 'Disable', kind) : actionForm(`${base}/enable${place}`, 'Enable', kind)
}
