import type { Context } from './context.ts'

/** `specified`: the specification says so. `choice`: it leaves this open, and an implementation that decides otherwise only differs. */
export type Level = 'specified' | 'choice'

export type Check = {
  /** The area, a dot, and what is checked. */
  readonly id: string
  /** The section of the specification, and its rule where it has numbered ones. */
  readonly section: string
  readonly title: string
  readonly level: Level
  readonly needsMailbox: boolean
  run(context: Context): Promise<void>
}

type Declare = (id: string, section: string, title: string, run: Check['run']) => Check

function declaring({ level, needsMailbox }: Pick<Check, 'level' | 'needsMailbox'>): Declare {
  return (id, section, title, run) => ({ id, section, title, level, needsMailbox, run })
}

/** A statement of the specification. */
export const check = declaring({ level: 'specified', needsMailbox: false })
/** A statement of the specification that needs a verified account, or another mail. */
export const mailCheck = declaring({ level: 'specified', needsMailbox: true })
/** A choice of Latchkey where the specification is silent. */
export const choice = declaring({ level: 'choice', needsMailbox: false })
export const mailChoice = declaring({ level: 'choice', needsMailbox: true })

export function areaOf({ id }: Pick<Check, 'id'>): string {
  return id.slice(0, id.indexOf('.'))
}

/** A check that does not apply to the settings of this implementation. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable'
}

const SECTION_NAMES: Readonly<Record<string, string>> = {
  '2.1': 'User',
  '2.2': 'API key',
  '2.3': 'Tokens',
  '3': 'States and transitions',
  '4': 'Endpoints',
  '4.1': 'Account endpoints',
  '4.2': 'GET /reset-password/ behaviour',
  '4.3': 'User management',
  '4.4': 'API key endpoints',
  '4.5': 'Health and metrics',
  '4.6': 'Interactive explorers',
  '5': 'Authentication',
  '6': 'Events',
  '7': 'Errors',
  '8': 'Limits',
}

/** "§4.1 rule 2, Account endpoints" */
export function describeSection(section: string): string {
  return `§${section}, ${sectionName(section)}`
}

export function sectionName(section: string): string {
  return SECTION_NAMES[section.split(' ')[0] ?? ''] ?? ''
}
