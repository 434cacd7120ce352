import type { AuditRecord } from '@berth/contract'
import { decodeCursor, pageOf } from '../../kit/list-cursor.ts'
import type { Queryable } from '../../storage/postgres/database.ts'

interface AuditRow {
  readonly id: string
  readonly at: Date
  readonly actor_kind: string
  readonly actor_id: string | null
  readonly actor_name: string | null
  readonly action: string
  readonly target: string | null
  readonly address: string | null
  readonly outcome: string
  readonly details: Readonly<Record<string, unknown>>
}

/**
 * Reads a page of an organization's audit log, newest first.
 *
 * @throws ApiError 400 `invalid_request` for a cursor of another list
 */
export async function readAudit(
  db: Queryable,
  organizationId: string,
  { limit, cursor, action }: { readonly limit: number; readonly cursor?: string; readonly action?: string },
): Promise<{ entries: AuditRecord[]; nextCursor: string | null; hasMore: boolean }> {
  const list = `audit/${organizationId}/${action ?? ''}`
  const after = cursor === undefined ? null : decodeCursor(list, cursor)
  const { rows } = await db.query<AuditRow>({
    name: 'read-audit',
    text: `
      select id, at, actor_kind, actor_id, actor_name, action, target, address, outcome, details
      from audit_log
      where organization_id = $1 and ($2::text is null or action = $2)
        and ($3::timestamptz is null or (at, id) < ($3, $4::uuid))
      order by at desc, id desc limit $5`,
    values: [organizationId, action ?? null, after?.updatedAt ?? null, after?.id ?? null, limit + 1],
  })
  const { page, nextCursor, hasMore } = pageOf(list, rows, limit, row => row.at)
  return { entries: page.map(toRecord), nextCursor, hasMore }
}

const toRecord = ({ actor_kind, actor_id, actor_name, at, ...row }: AuditRow): AuditRecord => ({
  ...row,
  at: at.toISOString(),
  actor: { kind: actor_kind, id: actor_id, name: actor_name },
})
