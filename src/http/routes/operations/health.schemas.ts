import { Type } from '../../validation/schema.ts'

export const HealthView = Type.Object(
  { status: Type.Literal('ok', { description: 'Always `ok`.' }) },
  { title: 'Health', description: 'The state of the service.' },
)
