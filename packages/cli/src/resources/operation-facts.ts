import { operationTable } from '@berth/client'

/** Operations whose path names an organization; the command fills in that of the person. */
export const organizationOperations: ReadonlySet<string> = new Set(
  Object.entries(operationTable).flatMap(([id, { path }]) => (path.includes('{organizationId}') ? [id] : [])),
)

/** Operations that answer with one page of a list. */
export const pagedOperations: ReadonlySet<string> = new Set(
  Object.entries(operationTable).flatMap(([id, { page }]) => (page === undefined ? [] : [id])),
)
