import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { ClaimedRows } from '@berth/platform/storage/postgres/claimed-rows.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** Looks that are older than this have nobody who waits. */
export const LOOK_SECONDS = 30

export interface LookRow {
  readonly id: string
  readonly organization_id: string
  readonly session_id: string
  /** Null for a look at the base of the Session's repository. */
  readonly lease_id: string | null
  readonly look: string
  readonly answered_at: Date | null
  readonly answer: string | null
  readonly content: Buffer | null
}

export async function askForLook(
  db: Queryable,
  { organizationId, sessionId }: SessionKey,
  ask: { readonly id: string; readonly leaseId: string | null; readonly look: string; readonly now: Date },
): Promise<void> {
  await db.query({
    name: 'ask-for-look',
    text: `
      insert into file_looks (id, organization_id, session_id, lease_id, look, asked_at)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [ask.id, organizationId, sessionId, ask.leaseId, ask.look, ask.now],
  })
}

/** Takes the answer of a look; null while there is none. */
export async function takeLook(db: Queryable, id: string): Promise<Pick<LookRow, 'answer' | 'content'> | null> {
  const { rows } = await db.query<Pick<LookRow, 'answer' | 'content'>>({
    name: 'take-look',
    text: 'delete from file_looks where id = $1 and answered_at is not null returning answer, content',
    values: [id],
  })
  return rows[0] ?? null
}

export async function dropLook(db: Queryable, id: string): Promise<void> {
  await db.query({ name: 'drop-look', text: 'delete from file_looks where id = $1', values: [id] })
}

/** Deletes looks that nobody has taken. */
export async function forgetLooks(db: Queryable, before: Date): Promise<void> {
  await db.query({ text: 'delete from file_looks where asked_at < $1', values: [before] })
}

/**
 * The looks that workers share, on `file_looks_open`. Only a process that holds the host of the sandbox can answer one at
 * it, and every worker one at the base of a repository. `$4` are the hosts of the process.
 */
export const claimedLooks = new ClaimedRows<LookRow>({
  table: 'file_looks',
  key: ['id'],
  due: `r.answered_at is null and r.asked_at > $1::timestamptz - interval '${LOOK_SECONDS} seconds'
    and (r.lease_id is null or l.id is not null)`,
  order: 'r.asked_at',
  join: {
    clause: `
      left join leases l on l.id = r.lease_id and l.ended_at is null and l.state = 'attached' and l.host = any ($4)`,
    columns: { host: 'l.host' },
  },
})
