import type { Plan } from '../../../domain/values/plans.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { selectField } from '../site/elements/fields.ts'

export const PLAN_FIELDS = { plan: { schema: Type.String({ maxLength: 40 }), label: 'Plan' } }

/** What limits the keys of the account. */
export function planCard(action: string, { name, limits }: Plan, names: readonly string[]): Html {
  return splitCard({
    id: 'plan',
    title: 'Plan',
    text: `All API keys of this account together may use ${limits.map(({ text }) => text).join(' and ')}.`,
    content: html`<form class="form" method="post" action="${action}">
${selectField({ name: 'plan', label: PLAN_FIELDS.plan.label, choices: names.map((one) => [one, one] as const), chosen: name })}
<div class="actions"><button>Change plan</button></div>
</form>`,
  })
}
