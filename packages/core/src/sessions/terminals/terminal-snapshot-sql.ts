import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { TerminalEnd } from './terminal-sql.ts'

/**
 * A step-up ends the browser's sign-in shortly before the next one takes its place, with its terminals. Signing out
 * deletes the browser's session at once and knows no such time.
 */
const STEP_UP_MS = 3_000

/** How things stand with a terminal that is looked at. */
export interface TerminalSnapshot {
  readonly state: 'requested' | 'started' | 'ended'
  readonly end_reason: TerminalEnd | null
  /** The page that came with a ticket last. */
  readonly holder_id: string | null
  /** Whether its lease has ended. */
  readonly is_lost: boolean
  /** Whether its person may still use it: by sign-in, browser, membership and the organization's product access. */
  readonly stands: boolean
}

/** SQL that is true while a terminal's person may use it; `$2` is now, `$3` the idle bound, `$4` the bound of a step-up. */
const stands = `exists (
    select 1 from people p, memberships m, organizations o, sign_ins s
    where p.id = t.person_id and p.disabled_at is null
      and m.id = t.membership_id and m.revoked_at is null
      and o.id = t.organization_id and o.suspended_at is null and o.cloud_access
      and s.id = t.sign_in_id and (s.ended_at is null or t.console_session_id is not null and s.ended_at > $4)
      and (t.console_session_id is null or exists (
        select 1 from console_sessions c
        where c.id = t.console_session_id and c.expires_at > $2 and c.seen_at > $3)))`

/** Reads how things stand with a terminal. @param idleSince browsers last seen before it are signed out */
export async function readTerminalSnapshot(
  db: Queryable,
  id: string,
  now: Date,
  idleSince: Date,
): Promise<TerminalSnapshot | null> {
  return await queryRow<TerminalSnapshot>(db, {
    name: 'read-terminal-standing',
    text: `
      select t.state, t.end_reason, t.holder_id, l.ended_at is not null as is_lost, ${stands} as stands
      from terminals t join leases l on l.id = t.lease_id
      where t.id = $1`,
    values: [id, now, idleSince, new Date(now.getTime() - STEP_UP_MS)],
  })
}

/** Lists live terminals of hosts whose persons may not use them any more, looked at or not. */
export async function listFallen(
  db: Queryable,
  hosts: readonly string[],
  now: Date,
  idleSince: Date,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: 'list-fallen-terminals',
    text: `
      select t.id from terminals t join leases l on l.id = t.lease_id
      where t.ended_at is null and l.host = any ($1) and not ${stands}`,
    values: [hosts, now, idleSince, new Date(now.getTime() - STEP_UP_MS)],
  })
  return rows.map(({ id }) => id)
}
