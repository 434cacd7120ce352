import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryChanged, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { PreviewHost } from './preview-host.ts'

/** The target of a preview: a port of a sandbox, or an artifact. */
export type PreviewTarget =
  | { readonly port: number; readonly leaseId: string; readonly artifactId: null }
  | { readonly port: null; readonly leaseId: null; readonly artifactId: string }

export type NewPreview = SessionKey &
  PreviewTarget & {
    readonly label: string
    readonly personId: string
    readonly membershipId: string
    readonly signInId: string
    readonly ticketDigest: Buffer
    readonly ticketEndsAt: Date
    readonly endsAt: Date
  }

/** An artifact that a preview shows. */
export interface ShownArtifact {
  readonly name: string
  readonly size_bytes: number
  readonly sha256: string
}

/** The source of a preview: the lease of its port with the host, or its artifact. */
export type ShownPreview = { readonly lease_id: string; readonly host: string } | (ShownArtifact & { lease_id: null })

export async function insertPreview(db: Queryable, preview: NewPreview): Promise<void> {
  await db.query({
    text: `
      insert into previews (label, port, organization_id, session_id, lease_id, artifact_id, person_id, membership_id,
        sign_in_id, ticket_digest, ticket_expires_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    values: [
      preview.label,
      preview.port,
      preview.organizationId,
      preview.sessionId,
      preview.leaseId,
      preview.artifactId,
      preview.personId,
      preview.membershipId,
      preview.signInId,
      preview.ticketDigest,
      preview.ticketEndsAt,
      preview.endsAt,
    ],
  })
}

/** Trades the ticket of a preview for a secret, once. @returns whether the ticket was good */
export async function takePreviewTicket(
  db: Queryable,
  at: PreviewHost,
  digests: { readonly ticket: Buffer; readonly secret: Buffer },
  now: Date,
): Promise<boolean> {
  return await queryChanged(db, {
    name: 'take-preview-ticket',
    text: `
      update previews set ticket_digest = null, secret_digest = $4
      where label = $1 and port is not distinct from $2 and ticket_digest = $3 and ticket_expires_at > $5`,
    values: [at.label, at.port, digests.ticket, digests.secret, now],
  })
}

/**
 * Returns the source of a preview, if the secret is the preview's, its sandbox stands or its artifact is there, and its
 * person may still use it: by sign-in, membership and the organization's product access.
 */
export async function findPreview(
  db: Queryable,
  at: PreviewHost & { readonly secret: Buffer },
  now: Date,
): Promise<ShownPreview | null> {
  return await queryRow<ShownPreview>(db, {
    name: 'find-preview',
    text: `
      select l.id as lease_id, l.host, a.name, a.size_bytes, a.sha256 from previews v
      left join leases l on l.id = v.lease_id and l.ended_at is null and l.state = 'attached'
      left join artifacts a on a.organization_id = v.organization_id and a.session_id = v.session_id and a.id = v.artifact_id
      join people p on p.id = v.person_id and p.disabled_at is null
      join memberships m on m.id = v.membership_id and m.revoked_at is null
      join organizations o on o.id = v.organization_id and o.suspended_at is null and o.cloud_access
      join sign_ins s on s.id = v.sign_in_id and s.ended_at is null
      where v.label = $1 and v.port is not distinct from $2 and v.secret_digest = $3 and v.expires_at > $4
        and num_nonnulls(l.id, a.id) = 1`,
    values: [at.label, at.port, at.secret, now],
  })
}

export async function endPreviews(db: Queryable, key: SessionKey, port: number): Promise<void> {
  await db.query({
    text: 'delete from previews where organization_id = $1 and session_id = $2 and port = $3',
    values: [key.organizationId, key.sessionId, port],
  })
}

/** Deletes previews that nobody can use any more. */
export async function forgetEndedPreviews(db: Queryable, now: Date): Promise<void> {
  await db.query({
    text: `
      delete from previews v where v.expires_at < $1 or (v.secret_digest is null and v.ticket_expires_at < $1)
        or (v.lease_id is not null and not exists (select 1 from leases l where l.id = v.lease_id and l.ended_at is null))`,
    values: [now],
  })
}
