import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

export interface NewView extends SessionKey {
  readonly label: string
  readonly artifactId: string
  readonly personId: string
  readonly membershipId: string
  readonly signInId: string
  readonly ticketDigest: Buffer
  readonly endsAt: Date
}

/** The artifact behind a view. */
export interface ViewedArtifact {
  readonly name: string
  readonly size_bytes: number
  readonly sha256: string
}

export async function insertView(db: Queryable, view: NewView): Promise<void> {
  await db.query({
    text: `
      insert into artifact_views (label, organization_id, session_id, artifact_id, person_id, membership_id, sign_in_id,
        ticket_digest, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    values: [
      view.label,
      view.organizationId,
      view.sessionId,
      view.artifactId,
      view.personId,
      view.membershipId,
      view.signInId,
      view.ticketDigest,
      view.endsAt,
    ],
  })
}

/** Trades the ticket of a view for the address of its content, once. @returns whether the ticket was good */
export async function takeViewTicket(
  db: Queryable,
  label: string,
  digests: { readonly ticket: Buffer; readonly content: Buffer },
  { now, endsAt }: { readonly now: Date; readonly endsAt: Date },
): Promise<boolean> {
  const { rowCount } = await db.query({
    name: 'take-view-ticket',
    text: `
      update artifact_views set ticket_digest = null, content_digest = $3, expires_at = $5
      where label = $1 and ticket_digest = $2 and expires_at > $4`,
    values: [label, digests.ticket, digests.content, now, endsAt],
  })
  return rowCount > 0
}

/**
 * Returns the artifact behind the address of a view's content, if its person may still read it: by sign-in, membership
 * and the organization's product access.
 */
export async function findView(
  db: Queryable,
  at: { readonly label: string; readonly content: Buffer },
  now: Date,
): Promise<ViewedArtifact | null> {
  const { rows } = await db.query<ViewedArtifact>({
    name: 'find-artifact-view',
    text: `
      select a.name, a.size_bytes, a.sha256 from artifact_views v
      join artifacts a on a.organization_id = v.organization_id and a.session_id = v.session_id and a.id = v.artifact_id
      join people p on p.id = v.person_id and p.disabled_at is null
      join memberships m on m.id = v.membership_id and m.revoked_at is null
      join organizations o on o.id = v.organization_id and o.suspended_at is null and o.cloud_access
      join sign_ins s on s.id = v.sign_in_id and s.ended_at is null
      where v.label = $1 and v.content_digest = $2 and v.expires_at > $3`,
    values: [at.label, at.content, now],
  })
  return rows[0] ?? null
}

/** Deletes views that nobody can use any more. */
export async function forgetViews(db: Queryable, now: Date): Promise<void> {
  await db.query({ text: 'delete from artifact_views where expires_at < $1', values: [now] })
}
