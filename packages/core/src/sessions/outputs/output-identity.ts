import type { OutputRequest } from '@berth/contract'

/** Returns text that equal requests for an output share. Unlike absence in a body, null in a schema means something. */
export const outputIdentity = ({ schema }: OutputRequest): string => JSON.stringify(schema, sorted)

function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}
