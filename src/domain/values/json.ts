import { isObject, type JsonObject } from '../../model/entity.ts'

/** The maximum size of each object that a product keeps with an account, as JSON. */
export const MAX_OBJECT_BYTES = 16_384

/** Of the JSON readers in use, the strictest by default, that of .NET, stops at 64 levels: every product can read what is stored. */
export const MAX_LEVELS = 32

/** Applies a JSON Merge Patch (RFC 7396). `Object.fromEntries` also makes `__proto__` a field like any other. */
export function mergePatch(target: unknown, patch: JsonObject): JsonObject
export function mergePatch(target: unknown, patch: unknown): unknown
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}

/** Whether a value is not nested too deeply, and has no number that JSON cannot write: `1e999` is read as infinite. */
export function isStorable(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((part) => isStorable(part, levels - 1))
}

export function isSmall(object: JsonObject): boolean {
  return Buffer.byteLength(JSON.stringify(object)) <= MAX_OBJECT_BYTES
}

/** Reads the text of a JSON object that may be stored; undefined if it is anything else. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && isStorable(value) && isSmall(value) ? value : undefined
  } catch {
    return undefined
  }
}
