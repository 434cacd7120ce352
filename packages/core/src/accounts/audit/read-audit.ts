import type { AuditEntry, AuditEntryPage, AuditFacets } from '@berth/contract'
import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
import type { Context } from '../../context.ts'
import {
  type AuditFilter,
  type AuditPlace,
  type AuditRow,
  findAuditIdsNamed,
  findAuditNames,
  listAuditActions,
  listAuditActors,
  listAuditEntries,
} from './audit-sql.ts'

/** Entries that an export reads at once. */
const EXPORT_PAGE = 500
/** Actors that a person can choose from. */
const MAX_ACTORS = 200

type Db = Pick<Context, 'db'>

/** Returns how people call what an organization's log names, by id. */
export type AuditNames = typeof findAuditNames

/** Returns the ids of what an organization's log may name whose name contains a text. */
export type AuditIdsNamed = typeof findAuditIdsNamed

export interface AuditQuery {
  readonly actor?: string
  readonly action?: string
  /** The part of actions before the dot. */
  readonly family?: string
  readonly target?: string
  readonly from?: string
  readonly to?: string
}

const DAY_MS = 24 * 60 * 60_000

/** Returns a query whose `action` may also be the part of actions before the dot. */
export const withFamily = <Query extends AuditQuery>({ action, ...query }: Query) => ({
  ...query,
  ...(action !== undefined && (action.includes('.') ? { action } : { family: action })),
})

/** Returns a query as a filter of statements. */
export const auditFilter = async (
  { db }: Db,
  organizationId: string,
  { actor, action, family, target, from, to }: AuditQuery,
  idsNamed: AuditIdsNamed = findAuditIdsNamed,
): Promise<AuditFilter> => ({
  organizationId,
  actor,
  action,
  family,
  target,
  named: target === undefined ? [] : await idsNamed(db, organizationId, target),
  from: from === undefined ? undefined : new Date(from),
  until: to === undefined ? undefined : new Date(Date.parse(to) + DAY_MS),
})

/**
 * Returns a page of entries, newest first.
 * @throws ApiError 400 `invalid_request` if no page of this list gave the cursor
 */
export async function pageAudit(
  { db }: Db,
  organizationId: string,
  { limit, cursor, ...query }: AuditQuery & { readonly limit: number; readonly cursor?: string },
  namesOf: AuditNames = findAuditNames,
  idsNamed: AuditIdsNamed = findAuditIdsNamed,
): Promise<AuditEntryPage> {
  const list = `audit/${organizationId}/${JSON.stringify(query)}`
  const after = cursor === undefined ? null : decodeCursor(list, cursor)
  const filter = await auditFilter({ db }, organizationId, query, idsNamed)
  const rows = await listAuditEntries(db, filter, after, limit + 1)
  const { page, nextCursor, hasMore } = pageOf(list, rows, limit, row => row.at)
  return { entries: await named({ db }, organizationId, page, namesOf), nextCursor, hasMore }
}

/** Yields every entry as a line of JSON, newest first. It holds one page at a time. */
export async function* auditLines({ db }: Db, filter: AuditFilter, namesOf: AuditNames): AsyncGenerator<string> {
  for (let after: AuditPlace | null = null; ; ) {
    const rows: readonly AuditRow[] = await listAuditEntries(db, filter, after, EXPORT_PAGE)
    const entries = await named({ db }, filter.organizationId, rows, namesOf)
    if (entries.length > 0) yield entries.map(entry => `${JSON.stringify(entry)}\n`).join('')
    const last = rows.at(-1)
    if (last === undefined || rows.length < EXPORT_PAGE) return
    after = { updatedAt: last.at, id: last.id }
  }
}

/** Returns the actions and actors of an organization's log. */
export async function auditFacets({ db }: Db, organizationId: string): Promise<AuditFacets> {
  const [actions, actors] = await Promise.all([
    listAuditActions(db, organizationId),
    listAuditActors(db, organizationId, MAX_ACTORS),
  ])
  const ids = actors.flatMap(({ actor_id }) => (actor_id === null ? [] : [actor_id]))
  const names = await findAuditNames(db, organizationId, ids)
  return {
    actions: [...actions],
    actors: actors.map(({ actor_kind: kind, actor_id: id, actor_name }) => ({
      kind,
      id,
      name: actor_name ?? names.get(id ?? '') ?? null,
      filter: id ?? kind,
    })),
  }
}

async function named(
  { db }: Db,
  organizationId: string,
  rows: readonly AuditRow[],
  namesOf: AuditNames,
): Promise<AuditEntry[]> {
  const ids = new Set(rows.flatMap(({ actor_id, target }) => [actor_id, idOf(target)].filter(id => id !== null)))
  const names = await namesOf(db, organizationId, [...ids])
  return rows.map(({ at, actor_kind, actor_id, actor_name, ...row }) => ({
    ...row,
    at: at.toISOString(),
    actor: { kind: actor_kind, id: actor_id, name: actor_name ?? names.get(actor_id ?? '') ?? null },
    // What is deleted leaves its name in its last entry.
    targetName: names.get(idOf(row.target) ?? '') ?? textIn(row.details, 'name'),
  }))
}

const textIn = (details: AuditRow['details'], name: string): string | null =>
  typeof details[name] === 'string' ? details[name] : null

/** Targets are a kind and an id: `membership/…`, or `webhook endpoint …`. */
const idOf = (target: string | null): string | null => /[ /]([^ /]+)$/.exec(target ?? '')?.[1] ?? null
