import type { Plan } from '../../../domain/values/plans.ts'
import type { ApiKey } from '../../../model/api-key.ts'
import type { DailyUse } from '../../../model/usage.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { deletionCard, fact, keyBadge, keyPrefix, never, splitCard } from '../site/elements/cards.ts'
import { useCard } from '../site/elements/charts.ts'
import { actionForm, type Form, type FormField, formOf, inputField } from '../site/elements/fields.ts'
import type { Page } from '../site/shell.ts'
import type { Site } from '../site/site.ts'
import type { Texts } from '../texts/texts.ts'

const OVERLAPS: readonly (readonly [seconds: number, text: keyof Texts['keys']['overlaps']])[] = [
  [0, 'none'],
  [3600, 'hour'],
  [86_400, 'day'],
  [604_800, 'week'],
]
export const LIMIT_FIELD = {
  schema: Type.Optional(Type.String({ maxLength: 12 })),
  label: ({ fields }) => fields.limit,
  hint: ({ hints }) => hints.limit,
  isOptional: true,
} as const satisfies FormField

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
export function keyPage(site: Site, texts: Texts, key: ApiKey, { secret, place, use, plan, limitForm }: ShownKey): Page {
  const { keys, navigation } = texts
  const base = `${site.root}/account/keys/${key.id}`
  const content = html`${secret === undefined ? undefined : secretCard(texts, secret)}
${factsCard(texts, key, site.now())}
${useCard(texts, use, texts.use.none(use.length))}
${limitCard(texts, `${base}/limit${place}`, key, plan, limitForm)}
${rotateCard(texts, base, place)}
${deletionCard({
  title: keys.deletion,
  text: keys.deletionText,
  action: `${base}/delete${place}`,
  verb: keys.delete,
  question: keys.deleting(key.name),
})}`
  return {
    title: key.name,
    content,
    badges: keyBadge(texts, key, site.now()),
    actions: switchForm(texts, base, place, key, ''),
    back: { path: `/account/keys${place}`, text: navigation.keys },
  }
}

function secretCard({ keys, buttons }: Texts, secret: string): Html {
  return html`<section class="card" aria-labelledby="secret"><h2 id="secret">${keys.secret}</h2>
<p class="notice warn" role="status">${keys.secretNow}</p>
<div class="secret"><input class="mono" id="key" aria-label="${keys.secretLabel}" value="${secret}" readonly><button class="primary" data-copy="key" hidden>${buttons.copy}</button></div>
<p class="hint">${keys.secretUse(html`<code class="nowrap">X-API-Key</code>`)}</p></section>\n`
}

function factsCard(texts: Texts, key: ApiKey, now: number): Html {
  const { keys, fields } = texts
  const { ageOf, timeOf } = texts.format
  const quiet = (text: string) => html`<span class="quiet">${text}</span>`
  const { access, scopes, createdAt, expiresAt, limit, lastUsedAt, retiringUntil } = key
  return html`<section class="card" aria-label="${keys.key}"><dl class="strip">
${fact(keys.beginsWith, keyPrefix(key))}
${fact(fields.access, keys.access[access])}
${fact(fields.scopes, scopes.length === 0 ? quiet(keys.noScopes) : html`<span class="mono">${scopes.join(' ')}</span>`)}
${fact(keys.created, timeOf(createdAt))}
${fact(fields.expires, expiresAt === undefined ? never(texts) : timeOf(expiresAt))}
${fact(fields.limit, limit === undefined ? quiet(keys.noLimit) : limit)}
${fact(keys.lastUsed, lastUsedAt === undefined ? never(texts) : ageOf(lastUsedAt, now))}
${retiringUntil === undefined ? undefined : fact(keys.formerSecret, keys.worksUntil(timeOf(retiringUntil)))}
</dl></section>`
}

function limitCard(texts: Texts, action: string, { limit }: ApiKey, plan: Plan | undefined, retried?: Form<'limit'>): Html {
  const { keys, fields, format } = texts
  const { problem, field } = retried ?? formOf(texts, { limit: LIMIT_FIELD })
  return splitCard({
    id: 'limits',
    title: fields.limit,
    text: plan === undefined ? keys.limitText : keys.limitTextWithPlan(format.limitsText(plan.limits)),
    content: html`<form class="form" method="post" action="${action}">
${problem}${field('limit', { value: limit ?? '' })}
<div class="actions"><button>${keys.saveLimit}</button></div>
</form>`,
  })
}

function rotateCard({ keys, fields }: Texts, base: string, place: string): Html {
  const choices = OVERLAPS.map(([seconds, text]) => [seconds, keys.overlaps[text]] as const)
  return splitCard({
    id: 'rotation',
    title: keys.rotation,
    text: keys.rotationText,
    content: html`<form class="form" method="post" action="${base}/rotate${place}">
${inputField({ name: 'overlap_seconds', label: fields.currentSecret, choices })}
<div class="actions"><button>${keys.rotate}</button></div>
</form>`,
  })
}

export function switchForm({ keys }: Texts, base: string, place: string, { isActive }: ApiKey, kind: '' | 'small'): Html {
  return isActive ? actionForm(`${base}/disable${place}`, keys.disable, kind) : actionForm(`${base}/enable${place}`, keys.enable, kind)
}
