import type { EnvironmentPage, EnvironmentRevisionPage, RequestQuery } from '@berth/contract'
import { invalidField, refusal } from '@berth/platform/kit/refusal.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { toEnvironments, toRevision } from './environment.ts'
import {
  type EnvironmentKey,
  findDefault,
  findEnvironment,
  listEnvironments,
  listRevisions,
} from './environment-sql.ts'
import type { Documents } from './put-environment.ts'

/** A place in the list of environments. */
interface NamePlace {
  readonly foldedName: string
  readonly id: string
}

/**
 * Returns a page of an organization's environments by folded name.
 * @throws ApiError 400 `invalid_request` if no page gave the cursor
 */
export async function pageEnvironments(
  context: Documents,
  organizationId: string,
  { limit, cursor, archived }: RequestQuery<'listEnvironments'>,
): Promise<EnvironmentPage> {
  const rows = await listEnvironments(context.db, organizationId, {
    archived: archived === undefined ? 'no' : archived === 'true' ? 'both' : 'only',
    after: cursor === undefined ? null : decodePlace(cursor),
    limit: limit + 1,
  })
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return {
    environments: await toEnvironments(context, organizationId, page),
    defaultEnvironmentId: await findDefault(context.db, organizationId),
    nextCursor: last === undefined ? null : encodePlace({ foldedName: last.folded_name, id: last.id }),
    hasMore: rows.length > limit,
  }
}

/** Returns a page of an environment's revisions, newest first. @throws ApiError 404 */
export async function pageRevisions(
  db: Queryable,
  key: EnvironmentKey,
  { before, limit }: RequestQuery<'listEnvironmentRevisions'>,
): Promise<EnvironmentRevisionPage> {
  if ((await findEnvironment(db, key)) === null) throw refusal('environment_not_found')
  const rows = await listRevisions(db, key, before ?? null, limit + 1)
  const revisions = rows.slice(0, limit).map(toRevision)
  return { revisions, nextBefore: rows.length > limit ? (revisions.at(-1)?.revision ?? null) : null }
}

const encodePlace = ({ foldedName, id }: NamePlace): string =>
  Buffer.from(JSON.stringify(['environments', foldedName, id])).toString('base64url')

function decodePlace(cursor: string): NamePlace {
  try {
    const [list, foldedName, id]: unknown[] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const sound = list === 'environments' && typeof foldedName === 'string' && typeof id === 'string' && isUuid(id)
    if (sound && !foldedName.includes('\0') && foldedName.isWellFormed()) {
      const place = { foldedName, id }
      if (encodePlace(place) === cursor) return place
    }
  } catch {
    // It is refused below.
  }
  throw invalidField(['cursor'], 'is not a cursor that a page of this list gave')
}
