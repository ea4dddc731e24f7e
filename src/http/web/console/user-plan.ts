import type { Plan } from '../../../domain/values/plans.ts'
import { type Html, html } from '../../../shared/html.ts'
import { Type } from '../../validation/schema.ts'
import { splitCard } from '../site/elements/cards.ts'
import { type Form, selectField } from '../site/elements/fields.ts'
import { limitsText } from './format.ts'

/** Without a label: a problem with the plan is shown above the list. */
export const PLAN_FIELDS = { plan: { schema: Type.String({ maxLength: 40 }) } }

/** What limits the keys of the account. `retried` is a form that was refused. */
export function planCard(action: string, plan: Plan, names: readonly string[], retried?: Form): Html {
  return splitCard({
    id: 'plan',
    title: 'Plan',
    text: `All API keys of this account together may make ${limitsText(plan.limits)}.`,
    content: html`<form class="form" method="post" action="${action}">
${retried?.problem}${selectField({ name: 'plan', label: 'Plan', choices: names.map((one) => [one, one] as const), chosen: plan.name })}
<div class="actions"><button>Change plan</button></div>
</form>`,
  })
}
