import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import {
  type Queryable,
  queryAny,
  queryChanged,
  queryRow,
  queryRows,
} from '@berth/platform/storage/postgres/database.ts'
import { deleteInBatches } from '@berth/platform/storage/postgres/delete-in-batches.ts'

/** A terminal of a person in a sandbox, or its preview. */
export interface TerminalRow {
  readonly id: string
  readonly organization_id: string
  readonly session_id: string
  readonly lease_id: string
  readonly person_id: string
  /** The page that came with a ticket last; null before the first. */
  readonly holder_id: string | null
  readonly columns: number
  readonly rows: number
  readonly state: 'requested' | 'started' | 'ended'
  readonly end_reason: TerminalEnd | null
  /** When a preview is ended; null for any other terminal. */
  readonly preview_ends_at: Date | null
}

/** A terminal with the host of its sandbox. */
export interface PlacedTerminal extends TerminalRow {
  readonly host: string
}

/** Why a terminal ended: its shell did, its sandbox did, its person wanted it, or it could not be made. */
export type TerminalEnd = 'exited' | 'workspace_lost' | 'closed' | 'failed'

/** A terminal to be made. */
export interface NewTerminal extends SessionKey {
  readonly id: string
  readonly leaseId: string
  readonly personId: string
  readonly membershipId: string
  readonly signInId: string
  readonly browserSessionId: string | null
  readonly origin: string
  readonly columns: number
  readonly rows: number
  readonly previewEndsAt: Date | null
  readonly ticket: Ticket
}

/** What opens a terminal once. */
export interface Ticket {
  readonly digest: Buffer
  readonly endsAt: Date
  /** Until when the sandbox is kept running for whoever comes with it. */
  readonly awakeUntil: Date
}

/** Asks for a terminal. The host's worker starts its shell. */
export async function insertTerminal(tx: Queryable, terminal: NewTerminal, now: Date): Promise<void> {
  const { ticket } = terminal
  await tx.query({
    name: 'insert-terminal',
    text: `
      insert into terminals (id, organization_id, session_id, lease_id, person_id, membership_id, sign_in_id,
        console_session_id, origin, columns, rows, state, created_at, ticket_digest, ticket_expires_at, awake_until,
        ticket_membership_id, ticket_sign_in_id, ticket_console_session_id, preview_ends_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'requested', $12, $13, $14, $15, $6, $7, $8, $16)`,
    values: [
      terminal.id,
      terminal.organizationId,
      terminal.sessionId,
      terminal.leaseId,
      terminal.personId,
      terminal.membershipId,
      terminal.signInId,
      terminal.browserSessionId,
      terminal.origin,
      terminal.columns,
      terminal.rows,
      now,
      ticket.digest,
      ticket.endsAt,
      ticket.awakeUntil,
      terminal.previewEndsAt,
    ],
  })
}

/**
 * Extends the live preview of a lease for a person, to whom it passes: it ends with their sign-in from then on, and the
 * page of whoever looked at it leaves.
 * @returns its id; null if the lease has none
 */
export async function extendPreview(
  tx: Queryable,
  { leaseId, personId, membershipId, signInId, browserSessionId, previewEndsAt, ticket }: NewTerminal,
): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'extend-preview',
    text: `
      update terminals set person_id = $2, membership_id = $3, sign_in_id = $4, console_session_id = $5, holder_id = null,
        ticket_membership_id = $3, ticket_sign_in_id = $4, ticket_console_session_id = $5, ticket_digest = $6,
        ticket_expires_at = $7, awake_until = greatest(awake_until, $8), preview_ends_at = greatest(preview_ends_at, $9)
      where lease_id = $1 and preview_ends_at is not null and ended_at is null
      returning id`,
    values: [
      leaseId,
      personId,
      membershipId,
      signInId,
      browserSessionId,
      ticket.digest,
      ticket.endsAt,
      ticket.awakeUntil,
      previewEndsAt,
    ],
  })
  return rows[0]?.id ?? null
}

/** Reads the preview of a lease: the one that stands, or one that could not be started, until its time is over. */
export async function findPreviewTerminal(db: Queryable, leaseId: string, now: Date): Promise<TerminalRow | null> {
  return await queryRow<TerminalRow>(db, {
    name: 'find-preview-terminal',
    text: `
      select * from terminals
      where lease_id = $1 and preview_ends_at > $2 and (ended_at is null or end_reason = 'failed')
      order by created_at desc limit 1`,
    values: [leaseId, now],
  })
}

/** Ends the previews whose time is over. @returns their ids */
export async function endDuePreviews(db: Queryable, now: Date): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: 'end-due-previews',
    text: `
      update terminals set state = 'ended', end_reason = 'closed', ended_at = $1, ticket_digest = null,
        ticket_expires_at = null, end_owed = true
      where preview_ends_at <= $1 and ended_at is null
      returning id`,
    values: [now],
  })
  return rows.map(({ id }) => id)
}

/** Returns the terminal of a lease that nobody has looked at for the longest time; null if somebody looks at each. */
export async function findIdleTerminal(
  tx: Queryable,
  leaseId: string,
  now: Date,
): Promise<Pick<TerminalRow, 'id' | 'lease_id'> | null> {
  return await queryRow<Pick<TerminalRow, 'id' | 'lease_id'>>(tx, {
    name: 'find-idle-terminal',
    text: `
      select id, lease_id from terminals where lease_id = $1 and ended_at is null and awake_until <= $2
      order by awake_until limit 1`,
    values: [leaseId, now],
  })
}

/** Counts the live terminals of a lease. */
export async function countTerminals(tx: Queryable, leaseId: string): Promise<number> {
  const { rows } = await tx.query<{ count: number }>({
    name: 'count-terminals',
    text: 'select count(*)::integer as count from terminals where lease_id = $1 and ended_at is null',
    values: [leaseId],
  })
  return rows[0]?.count ?? 0
}

/**
 * Gives another ticket for a person's terminal; the ticket before is void. The terminal passes to the sign-in that asks only
 * when the ticket is taken.
 * @returns false if the person has no such live terminal on the lease
 */
export async function renewTicket(
  tx: Queryable,
  {
    id,
    leaseId,
    personId,
    membershipId,
    signInId,
    browserSessionId,
    ticket,
  }: Pick<NewTerminal, 'id' | 'leaseId' | 'personId' | 'membershipId' | 'signInId' | 'browserSessionId' | 'ticket'>,
): Promise<boolean> {
  return await queryChanged(tx, {
    name: 'renew-ticket',
    text: `
      update terminals set ticket_digest = $4, ticket_expires_at = $5, awake_until = greatest(awake_until, $6),
        ticket_membership_id = $7, ticket_sign_in_id = $8, ticket_console_session_id = $9
      where id = $1 and lease_id = $2 and person_id = $3 and ended_at is null`,
    values: [
      id,
      leaseId,
      personId,
      ticket.digest,
      ticket.endsAt,
      ticket.awakeUntil,
      membershipId,
      signInId,
      browserSessionId,
    ],
  })
}

/** Uses up a ticket; the terminal is then its sign-in's. @returns null if it is none of the terminal's, was used, has ended, or is another origin's */
export async function takeTicket(
  db: Queryable,
  { id, digest, origin, now, awakeUntil }: { id: string; digest: Buffer; origin: string; now: Date; awakeUntil: Date },
): Promise<TerminalRow | null> {
  return await queryRow<TerminalRow>(db, {
    name: 'take-ticket',
    text: `
      update terminals set ticket_digest = null, ticket_expires_at = null, awake_until = greatest(awake_until, $5),
        holder_id = gen_random_uuid(), membership_id = ticket_membership_id, sign_in_id = ticket_sign_in_id,
        console_session_id = ticket_console_session_id
      where id = $1 and ticket_digest = $2 and ticket_expires_at > $4 and origin = $3 and ended_at is null
      returning *`,
    values: [id, digest, origin, now, awakeUntil],
  })
}

/**
 * Gives the terminals of a browser's session, with its tickets, to the session and sign-in that take its place, if they
 * are for the same membership.
 */
export async function moveTerminals(
  tx: Queryable,
  from: string,
  to: { readonly id: string; readonly signInId: string },
): Promise<void> {
  await tx.query({
    name: 'move-terminals',
    text: `
      update terminals t set
        sign_in_id = case t.console_session_id when $1 then s.id else t.sign_in_id end,
        console_session_id = case t.console_session_id when $1 then $2 else t.console_session_id end,
        ticket_sign_in_id = case t.ticket_console_session_id when $1 then s.id else t.ticket_sign_in_id end,
        ticket_console_session_id = case t.ticket_console_session_id when $1 then $2 else t.ticket_console_session_id end
      from sign_ins s
      where s.id = $3 and s.ended_at is null and s.membership_id = t.membership_id and t.ended_at is null
        and $1 in (t.console_session_id, t.ticket_console_session_id)`,
    values: [from, to.id, to.signInId],
  })
}

/** Reads a terminal of a person in their organization, or a preview of anybody. */
export async function findTerminal(
  db: Queryable,
  { organizationId, personId, id }: { organizationId: string; personId: string; id: string },
): Promise<TerminalRow | null> {
  return await queryRow<TerminalRow>(db, {
    name: 'find-terminal',
    text: `
      select * from terminals
      where id = $1 and organization_id = $2 and (person_id = $3 or preview_ends_at is not null)`,
    values: [id, organizationId, personId],
  })
}

/** Keeps the sandbox of a live terminal running until a time. */
export async function keepAwake(db: Queryable, id: string, until: Date): Promise<void> {
  await db.query({
    name: 'keep-terminal-awake',
    text: 'update terminals set awake_until = greatest(awake_until, $2) where id = $1 and ended_at is null',
    values: [id, until],
  })
}

/** Notes that somebody typed. */
export async function noteTyping(db: Queryable, id: string, now: Date): Promise<void> {
  await db.query({
    name: 'note-typing',
    text: 'update terminals set typed_at = $2 where id = $1',
    values: [id, now],
  })
}

/** Marks a terminal as started. @returns false if it has ended meanwhile */
export async function markStarted(db: Queryable, id: string): Promise<boolean> {
  return await queryChanged(db, {
    name: 'mark-terminal-started',
    text: "update terminals set state = 'started' where id = $1 and state in ('requested', 'started')",
    values: [id],
  })
}

/**
 * Ends a terminal; unless its shell has ended by itself, its supervisor is still owed the order. A preview outlives its
 * command, which may have left a server in the background.
 * @returns false if it had ended, or goes on
 */
export async function endTerminal(db: Queryable, id: string, reason: TerminalEnd, now: Date): Promise<boolean> {
  return await queryChanged(db, {
    name: 'end-terminal',
    text: `
      update terminals set state = 'ended', end_reason = $2, ended_at = $3, ticket_digest = null, ticket_expires_at = null,
        end_owed = $2 in ('closed', 'failed')
      where id = $1 and ended_at is null and ($2 <> 'exited' or preview_ends_at is null)`,
    values: [id, reason, now],
  })
}

/** Notes that the supervisor of an ended terminal has to be told so, again if need be. */
export async function oweEnd(db: Queryable, id: string): Promise<void> {
  await db.query({
    name: 'owe-terminal-end',
    text: 'update terminals set end_owed = true where id = $1 and ended_at is not null',
    values: [id],
  })
}

/** Notes that a supervisor has answered the order to end a terminal. */
export async function settleEnd(db: Queryable, id: string): Promise<void> {
  await db.query({
    name: 'settle-terminal-end',
    text: 'update terminals set end_owed = false where id = $1',
    values: [id],
  })
}

/** Lists ended terminals of hosts whose shells may still run. */
export async function listOwedEnds(db: Queryable, hosts: readonly string[]): Promise<readonly PlacedTerminal[]> {
  return await queryRows<PlacedTerminal>(db, {
    name: 'list-owed-ends',
    text: `
      select t.*, l.host from terminals t join leases l on l.id = t.lease_id
      where t.end_owed and l.host = any ($1) and l.state = 'attached' order by t.ended_at`,
    values: [hosts],
  })
}

/** Ends the terminals of leases that have ended. @returns their ids */
export async function endLostTerminals(db: Queryable, now: Date): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: 'end-lost-terminals',
    text: `
      update terminals t
      set state = 'ended', end_reason = 'workspace_lost', ended_at = $1, ticket_digest = null, ticket_expires_at = null
      from leases l where l.id = t.lease_id and t.ended_at is null and l.ended_at is not null
      returning t.id`,
    values: [now],
  })
  return rows.map(({ id }) => id)
}

/** Lists terminals of hosts that somebody looks at or is about to, and previews. */
export async function listAwake(
  db: Queryable,
  hosts: readonly string[],
  now: Date,
): Promise<readonly PlacedTerminal[]> {
  return await queryRows<PlacedTerminal>(db, {
    name: 'list-awake-terminals',
    text: `
      select t.*, l.host from terminals t join leases l on l.id = t.lease_id
      where t.ended_at is null and t.awake_until > $2 and l.host = any ($1) and l.state = 'attached'
      order by t.created_at`,
    values: [hosts, now],
  })
}

/** Returns whether a lease has a terminal that somebody looks at, or a preview, so that its sandbox has to run. */
export async function isKeptAwake(db: Queryable, leaseId: string, now: Date): Promise<boolean> {
  return await queryAny(db, {
    name: 'is-kept-awake',
    text: 'select 1 from terminals where lease_id = $1 and ended_at is null and awake_until > $2 limit 1',
    values: [leaseId, now],
  })
}

/** Deletes terminals that ended before a time. @returns how many there were */
export const forgetTerminals = (db: Queryable, before: Date, signal: AbortSignal): Promise<number> =>
  deleteInBatches(
    db,
    {
      table: 'terminals',
      join: 'join leases l on l.id = r.lease_id',
      where: 'r.ended_at < $1 and l.ended_at is not null',
      values: [before],
    },
    signal,
  )
