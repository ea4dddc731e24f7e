import type { AccountPlans } from '../../../domain/plans/plans.service.ts'
import { USAGE_DAYS, type Usage } from '../../../domain/plans/usage.service.ts'
import type { Plan } from '../../../domain/values/plans.ts'
import { type DailyUse, startOfDay } from '../../../model/usage.ts'
import { described } from '../../answers/replies.ts'
import type { App } from '../../pipeline/declarations.ts'
import { defaulted, integer, type Static, Type, text } from '../../validation/schema.ts'
import { createApiRoutes } from '../api-routes.ts'
import { KeyPath, UserKeyPath } from '../keys/key.routes.ts'
import { UserPath } from '../users/user.schemas.ts'

const PlanName = text('The name of a plan.', 'pro')
const PlanBody = Type.Object({ plan: PlanName }, { title: 'NewPlan', description: 'The new plan of an account.' })
const PlanView = Type.Object(
  {
    plan: PlanName,
    limits: Type.Array(Type.String(), {
      description: 'How much all keys of the account may use together: a number per s, m, h or d.',
      examples: [['600/m', '100000/d']],
    }),
  },
  { title: 'Plan', description: 'What an account may use.' },
)

function planView({ name, limits }: Plan): Static<typeof PlanView> {
  return { plan: name, limits: limits.map((limit) => limit.text) }
}

/** The plans of accounts. Without PLANS, the paths do not exist. */
export function planRoutes(app: App, plans: AccountPlans | undefined): void {
  const isDisabled = plans === undefined
  const existing = (): AccountPlans => {
    if (plans === undefined) throw new Error('the pipeline lets no request pass without plans')
    return plans
  }

  createApiRoutes(app, 'Users').get('/users/me/plan', 'getOwnPlan', {
    config: { access: 'user', acceptedKeys: 'read', writes: false, isDisabled },
    summary: 'Get your own plan',
    description: 'The plan of your account, with its limits. Your API keys share them.',
    response: { 200: described(PlanView, 'Your plan.'), refuses: ['user_not_found'] },
    handle: async ({ caller }) => planView(await existing().find(caller.user.id)),
  })

  const api = createApiRoutes(app, 'User administration')
  api.get('/users/:user_id/plan', 'getUserPlan', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false, isDisabled },
    summary: 'Get the plan of a user',
    description: 'The plan of the account, with its limits.',
    params: UserPath,
    response: { 200: described(PlanView, 'The plan of the user.'), refuses: ['user_not_found'] },
    handle: async ({ params }) => planView(await existing().find(params.user_id)),
  })
  api.put('/users/:user_id/plan', 'setUserPlan', {
    config: { access: 'admin', acceptedKeys: 'full', writes: true, isDisabled },
    summary: 'Change the plan of a user',
    description: 'The limits apply to the very next request. What was used before counts for them.',
    params: UserPath,
    body: PlanBody,
    response: { 200: described(PlanView, 'The new plan of the user.'), refuses: ['unknown_plan', 'user_not_found'] },
    handle: async ({ actor, params, body }) => planView(await existing().set(actor, params.user_id, body.plan)),
  })
}

const DaysQuery = Type.Object({
  days: defaulted(integer('How many days, today included.', 30, { minimum: 1, maximum: USAGE_DAYS, default: 30 })),
})
const UsageView = Type.Array(
  Type.Object(
    {
      day: text('The day, in UTC.', '2026-11-17', { format: 'date' }),
      allowed: integer('What services have accepted: the number of requests, or the sum of their costs.', 120),
      limited: integer('What was refused because of a limit.', 3),
    },
    { title: 'DailyUse', description: 'What API keys have used on one day.' },
  ),
)

function usageView(use: readonly DailyUse[]): Static<typeof UsageView> {
  return use.map(({ day, allowed, limited }) => ({ day: new Date(startOfDay(day)).toISOString().slice(0, 10), allowed, limited }))
}

const ORDER = `The oldest day first, with days without use. Counted at \`/auth/check\`, at most a minute behind, and kept for ${USAGE_DAYS} days.`

/** What API keys have used. */
export function usageRoutes(app: App, usage: Usage): void {
  const own = createApiRoutes(app, 'API keys')
  own.get('/users/keys/:key_id/usage', 'getApiKeyUsage', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    summary: 'Get the use of one of your keys',
    description: ORDER,
    params: KeyPath,
    querystring: DaysQuery,
    response: { 200: described(UsageView, 'The use of the key.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ caller, params, query }) => usageView(await usage.ofKey(caller.user.id, params.key_id, query.days)),
  })
  own.get('/users/me/usage', 'getOwnUsage', {
    config: { access: 'user', acceptedKeys: 'read', writes: false },
    summary: 'Get the use of all your keys',
    description: `${ORDER} Deleted keys are included.`,
    querystring: DaysQuery,
    response: { 200: described(UsageView, 'The use of your keys.'), refuses: ['user_not_found'] },
    handle: async ({ caller, query }) => usageView(await usage.ofUser(caller.user.id, query.days)),
  })

  const ofUsers = createApiRoutes(app, 'API keys of users')
  ofUsers.get('/users/keys/by-user/:user_id/:key_id/usage', 'getApiKeyUsageOfUser', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'Get the use of a key of a user',
    description: ORDER,
    params: UserKeyPath,
    querystring: DaysQuery,
    response: { 200: described(UsageView, 'The use of the key.'), refuses: ['user_not_found', 'key_not_found'] },
    handle: async ({ params, query }) => usageView(await usage.ofKey(params.user_id, params.key_id, query.days)),
  })
  ofUsers.get('/users/:user_id/usage', 'getUsageOfUser', {
    config: { access: 'admin', acceptedKeys: 'read', writes: false },
    summary: 'Get the use of all keys of a user',
    description: `${ORDER} Deleted keys are included.`,
    params: UserPath,
    querystring: DaysQuery,
    response: { 200: described(UsageView, 'The use of the keys.'), refuses: ['user_not_found'] },
    handle: async ({ params, query }) => usageView(await usage.ofUser(params.user_id, query.days)),
  })
}
