import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

export interface NewPreview extends SessionKey {
  readonly label: string
  readonly port: number
  readonly leaseId: string
  readonly personId: string
  readonly membershipId: string
  readonly signInId: string
  readonly ticketDigest: Buffer
  readonly ticketEndsAt: Date
  readonly endsAt: Date
}

export async function insertPreview(db: Queryable, preview: NewPreview): Promise<void> {
  await db.query({
    text: `
      insert into port_previews (label, port, organization_id, session_id, lease_id, person_id, membership_id, sign_in_id,
        ticket_digest, ticket_expires_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    values: [
      preview.label,
      preview.port,
      preview.organizationId,
      preview.sessionId,
      preview.leaseId,
      preview.personId,
      preview.membershipId,
      preview.signInId,
      preview.ticketDigest,
      preview.ticketEndsAt,
      preview.endsAt,
    ],
  })
}

/** Trades the ticket of a preview for a cookie, once. @returns whether the ticket was good */
export async function takePreviewTicket(
  db: Queryable,
  at: { readonly label: string; readonly port: number },
  digests: { readonly ticket: Buffer; readonly cookie: Buffer },
  now: Date,
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'take-preview-ticket',
    text: `
      update port_previews set ticket_digest = null, cookie_digest = $4
      where label = $1 and port = $2 and ticket_digest = $3 and ticket_expires_at > $5`,
    values: [at.label, at.port, digests.ticket, digests.cookie, now],
  })
  return rowCount > 0
}

/**
 * Returns the lease behind a preview, and its host, if the cookie is the preview's, the sandbox stands, and its person may
 * still use it: by sign-in, membership and the organization's product access.
 */
export async function findPreview(
  db: Queryable,
  at: { readonly label: string; readonly port: number; readonly cookie: Buffer },
  now: Date,
): Promise<{ readonly lease_id: string; readonly host: string } | null> {
  const { rows } = await db.query<{ lease_id: string; host: string }>({
    name: 'find-port-preview',
    text: `
      select v.lease_id, l.host from port_previews v
      join leases l on l.id = v.lease_id and l.ended_at is null and l.state = 'attached'
      join people p on p.id = v.person_id and p.disabled_at is null
      join memberships m on m.id = v.membership_id and m.revoked_at is null
      join organizations o on o.id = v.organization_id and o.suspended_at is null and o.cloud_access
      join sign_ins s on s.id = v.sign_in_id and s.ended_at is null
      where v.label = $1 and v.port = $2 and v.cookie_digest = $3 and v.expires_at > $4`,
    values: [at.label, at.port, at.cookie, now],
  })
  return rows[0] ?? null
}

export async function endPreviews(db: Queryable, key: SessionKey, port: number): Promise<void> {
  await db.query({
    text: 'delete from port_previews where organization_id = $1 and session_id = $2 and port = $3',
    values: [key.organizationId, key.sessionId, port],
  })
}

/** Deletes previews that nobody can use any more. */
export async function forgetPortPreviews(db: Queryable, now: Date): Promise<void> {
  await db.query({
    text: `
      delete from port_previews v where v.expires_at < $1 or (v.cookie_digest is null and v.ticket_expires_at < $1)
        or not exists (select 1 from leases l where l.id = v.lease_id and l.ended_at is null)`,
    values: [now],
  })
}
