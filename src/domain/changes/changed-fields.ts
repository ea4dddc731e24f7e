import { snakeCase } from '../../model/entity.ts'

/** The names of the fields that are set, spelled as in the API, for an event. Never their values. */
export function changedFields(changes: object): string[] {
  return Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [snakeCase(name)]))
}
