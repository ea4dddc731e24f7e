import { askYesNo, isInteractive } from './ask.ts'
import { InvalidInput } from './refusals.ts'

export const YES_OPTION = ['--yes', 'do not ask before deleting'] as const

const SHOWN_AT_MOST = 10

/** A deletion that a person confirms: the labels of what would be deleted, and the noun that counts them. */
export type Deletion = {
  /** Such as `Delete`. */
  readonly verb: string
  readonly labels: readonly string[]
  readonly plural: string
  /** What else happens, such as ` with their sessions`. */
  readonly consequence: string
}

/** Asks before something is deleted. Without a terminal, as in a script, the command proceeds. */
export async function confirmDeletion(deletion: Deletion): Promise<void> {
  if (deletion.labels.length === 0 || !isInteractive()) return
  if (!(await isConfirmed(deletion))) throw new InvalidInput(['cancelled; nothing was changed'])
}

function isConfirmed({ verb, labels, plural, consequence }: Deletion): Promise<boolean> {
  const [first] = labels
  if (labels.length === 1) return askYesNo([], `${verb} ${first}${consequence}? This cannot be undone.`)
  const shown = labels.slice(0, SHOWN_AT_MOST).map((label) => `  ${label}`)
  const more = labels.length > SHOWN_AT_MOST ? [`  and ${labels.length - SHOWN_AT_MOST} more`] : []
  return askYesNo([...shown, ...more], `${verb} these ${labels.length} ${plural}${consequence}? This cannot be undone.`)
}
