import { estimatedUnitMs, parseKind } from './kinds.ts'
import { boundedWork, type LoginWork, OWN_FAMILY } from './login-work.ts'
import { type MeasureFamilies, measureInThread } from './measure-thread.ts'

/**
 * Returns the function that says what a login computes while accounts have hashes of these kinds. The first login that meets a family, or
 * the start of the service, waits until it is measured, for some tenths of a second. It may have been imported on a faster machine, or by a
 * release without this bound.
 */
export function createMeasuredWork(measure: MeasureFamilies = measureInThread): (kinds: readonly string[]) => Promise<LoginWork> {
  const measured = new Map<string, number>()
  let measuring: Promise<void> = Promise.resolve()

  async function learn(families: readonly string[]): Promise<void> {
    const unknown = families.filter((family) => !measured.has(family))
    if (unknown.length === 0) return
    // A machine without memory for another thread must not refuse all logins.
    const found = await measure(unknown).catch(() => new Map<string, number>())
    for (const family of unknown) measured.set(family, found.get(family) ?? estimatedUnitMs(family))
  }

  return async (kinds) => {
    const possible = boundedWork(kinds, () => 0)
    if (possible.size === 0) return possible
    const families = [...possible.keys(), OWN_FAMILY]
    if (families.some((family) => !measured.has(family))) {
      measuring = measuring.then(() => learn(families))
      await measuring
    }
    return boundedWork(
      kinds.filter((kind) => possible.has(parseKind(kind).family)),
      (family) => measured.get(family) ?? 0,
    )
  }
}
