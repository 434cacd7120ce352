import type { Event } from '../generated/types.ts'

/** Returns a text of an Event's data, or ''. The set of fields is open, so any field may be missing or odd. */
export function textOf({ data }: Pick<Event, 'data'>, name: string): string {
  const value = data[name]
  return typeof value === 'string' ? value : ''
}

/** Returns a number of an Event's data, or null. */
export function numberOf({ data }: Pick<Event, 'data'>, name: string): number | null {
  const value = data[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** Returns a member of a value that may be anything; undefined if there is none. */
export const memberOf = (value: unknown, name: string): unknown => Reflect.get(Object(value), name)
