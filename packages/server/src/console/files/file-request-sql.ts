import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'

/** Nobody waits for requests that are older than this. */
export const REQUEST_SECONDS = 30

export interface FileRequestRow {
  readonly id: string
  readonly organization_id: string
  readonly session_id: string
  /** Null for the base of the Session's repository. */
  readonly lease_id: string | null
  readonly request: string
  readonly answered_at: Date | null
  readonly answer: string | null
  readonly content: Buffer | null
}

export async function insertFileRequest(
  db: Queryable,
  { organizationId, sessionId }: SessionKey,
  request: { readonly id: string; readonly leaseId: string | null; readonly request: string; readonly now: Date },
): Promise<void> {
  await db.query({
    name: 'insert-file-request',
    text: `
      insert into file_requests (id, organization_id, session_id, lease_id, request, requested_at)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [request.id, organizationId, sessionId, request.leaseId, request.request, request.now],
  })
}

/** Takes the answer of a request; null while there is none. */
export async function takeFileAnswer(
  db: Queryable,
  id: string,
): Promise<Pick<FileRequestRow, 'answer' | 'content'> | null> {
  return await queryRow<Pick<FileRequestRow, 'answer' | 'content'>>(db, {
    name: 'take-file-answer',
    text: 'delete from file_requests where id = $1 and answered_at is not null returning answer, content',
    values: [id],
  })
}

export async function deleteFileRequest(db: Queryable, id: string): Promise<void> {
  await db.query({ name: 'delete-file-request', text: 'delete from file_requests where id = $1', values: [id] })
}

/** Deletes requests whose answers nobody has taken. */
export async function forgetFileRequests(db: Queryable, before: Date): Promise<void> {
  await db.query({ text: 'delete from file_requests where requested_at < $1', values: [before] })
}

/**
 * The requests that workers share, on `file_requests_open`. Only a process that holds the host of the sandbox can answer one at
 * it, and every worker one at the base of a repository. `$4` are the hosts of the process.
 */
export const claimedFileRequests = new ClaimedRows<FileRequestRow>({
  table: 'file_requests',
  key: ['id'],
  due: `r.answered_at is null and r.requested_at > $1::timestamptz - interval '${REQUEST_SECONDS} seconds'
    and (r.lease_id is null or l.id is not null)`,
  order: 'r.requested_at',
  join: {
    clause: `
      left join leases l on l.id = r.lease_id and l.ended_at is null and l.state = 'attached' and l.host = any ($4)`,
    columns: { host: 'l.host' },
  },
})
