import type { AuditMark, AuditProblem, ChainPlace, EventSeal, WrittenEvent } from '../../model/audit.ts'
import { type AuditSeals, digestOf, eventContent, linkHash, markContent, NO_HASH } from '../../security/audit-seals.ts'
import type { Reads } from '../../storage/database.ts'
import {
  type ChainLink,
  findLastOfKind,
  findMark,
  findServiceEvent,
  type MarkName,
  type UnsealedEvent,
} from '../../storage/repositories/audit/event-seal.repository.ts'

/** The trail is not as it was sealed, or was sealed with an unknown secret. */
export class BrokenChain extends Error {
  override readonly name = 'BrokenChain'
  readonly problem: AuditProblem

  constructor({ eventId, position, reason }: Pick<AuditProblem, 'reason'> & Partial<AuditProblem>) {
    super(`audit trail: ${eventId === undefined ? '' : `event ${eventId}: `}${reason}; run \`latchkey audit verify\``)
    this.problem = { eventId, position, reason }
  }
}

export const NOT_OURS = 'the link was not made with SECRET_KEY'
export const CHAIN_START: ChainPlace = { position: 0, hash: NO_HASH }

// A position and a SHA-256 in base64url.
const PLACE = /^([1-9]\d{0,14}):([\w-]{43})$/

/** A place as the log and the command line show it, to be kept elsewhere and compared later. */
export function placeText({ position, hash }: ChainPlace): string {
  return `${position}:${hash}`
}

export function parsePlace(text: string): ChainPlace | undefined {
  const [, position, hash] = PLACE.exec(text) ?? []
  return hash === undefined ? undefined : { position: Number(position), hash }
}

/** Links an event to the end of the chain. */
export function appendLink(seals: AuditSeals, end: ChainPlace, event: WrittenEvent, digest: string, sealedAt: number): EventSeal {
  const link = { position: end.position + 1, sealedAt, digest }
  const hash = linkHash(end.hash, link, event)
  return { ...link, eventId: event.id, hash, ...seals.seal('link', hash) }
}

/** The beginning or the end of the chain, vouched for by the current key. */
export function createMark(seals: AuditSeals, name: MarkName, { position, hash }: ChainPlace, markedAt: number): AuditMark {
  return { position, hash, markedAt, ...seals.seal(name, markContent({ position, hash, markedAt })) }
}

/** Why a mark cannot be trusted; undefined if it can. */
export function markProblem(seals: AuditSeals, name: MarkName, mark: AuditMark): AuditProblem | undefined {
  const state = seals.check(name, markContent(mark), mark)
  if (state === 'valid') return undefined
  const place = name === 'head' ? 'end' : 'beginning'
  const reason =
    state === 'unknown'
      ? `the ${place} of the chain was sealed with a secret that is neither SECRET_KEY nor one of its fallbacks`
      : `the record of the ${place} of the chain was changed`
  return { eventId: undefined, position: mark.position, reason }
}

/** The beginning or the end of the chain, checked. */
export async function readMark(reads: Reads, seals: AuditSeals, name: MarkName): Promise<AuditMark | undefined> {
  const mark = await findMark(reads, name)
  const problem = mark && markProblem(seals, name, mark)
  if (problem !== undefined) throw new BrokenChain(problem)
  return mark
}

/** Why an event that is not sealed yet cannot be genuine; undefined if it is. */
export function unsealedProblem(seals: AuditSeals, event: UnsealedEvent, digest: string): string | undefined {
  if (event.isCopy) return 'the event is a copy of another one'
  const state = seals.check('event', eventContent(event, digest), event)
  if (state === 'unknown') return 'the event was written with a secret that is neither SECRET_KEY nor one of its fallbacks'
  return state === 'invalid' ? 'the event was inserted or changed before it was sealed' : undefined
}

type LinkProblem = {
  readonly problem: string
  /** Links before it that are of an unknown secret are not vouched for: they are where the problem is. */
  readonly isRebuilt?: boolean
}

/** What is wrong with one link, given the place before it; its own place if nothing is. */
export function followLink(
  seals: AuditSeals,
  before: ChainPlace,
  { seal, event }: ChainLink,
): LinkProblem | (ChainPlace & { readonly isKeyKnown: boolean }) {
  if (seal.position !== before.position + 1) return { problem: `the event at position ${before.position + 1} was removed with its link` }
  if (event === undefined) return { problem: 'the event was removed' }
  const hash = linkHash(before.hash, seal, event)
  if (hash !== seal.hash) return { problem: 'the event or its link was changed', isRebuilt: isGenuine(seals, seal, event) }
  if (!isDigestRight(seal, event)) return { problem: 'the address or the details of the event were changed' }
  const state = seals.check('link', hash, seal)
  if (state === 'invalid') return { problem: NOT_OURS, isRebuilt: true }
  const isEventOurs = seals.check('event', eventContent(event, seal.digest), event) !== 'invalid'
  if (state === 'valid' && !isEventOurs) return { problem: 'the name of the key of the event was changed' }
  return { position: seal.position, hash, isKeyKnown: state === 'valid' }
}

/** Whether a link and its event are as they were made: then it is the links before them that were not. */
function isGenuine(seals: AuditSeals, seal: EventSeal, event: WrittenEvent): boolean {
  return seals.check('link', seal.hash, seal) === 'valid' && seals.check('event', eventContent(event, seal.digest), event) === 'valid'
}

function isDigestRight(seal: EventSeal, event: WrittenEvent): boolean {
  if (event.salt === null) return event.ip === null && event.detail === null
  return digestOf(event) === seal.digest
}

const SEALED_AFTER_MS = 60_000

/**
 * Throws if a trail without a chain cannot be a new one: some of its events may be missing. A service seals its events within a second or
 * two, unless it is killed before. Those of commands wait for the first start, and those that an operator has accepted with `audit reseal`
 * are sealed again.
 */
export async function requireNewTrail(reads: Reads, seals: AuditSeals): Promise<void> {
  const eventId = await findServiceEvent(reads, await acceptedUntil(reads, seals), SEALED_AFTER_MS)
  // The chain may have begun meanwhile.
  if (eventId === undefined || (await findMark(reads, 'head')) !== undefined) return
  const reason = 'the service wrote other events more than a minute after this one, and there is no chain: it was removed'
  throw new BrokenChain({ eventId, reason })
}

async function acceptedUntil(reads: Reads, seals: AuditSeals): Promise<number> {
  const event = await findLastOfKind(reads, 'audit.resealed')
  if (event === undefined) return 0
  const isOurs = seals.check('event', eventContent(event, digestOf(event)), event) === 'valid'
  return isOurs ? event.at : 0
}
