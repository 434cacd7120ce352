import { randomBytes } from 'node:crypto'
import { type ArtifactViewLink, artifactViewOf } from '@berth/contract'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { principalEntry } from '@berth/core/accounts/audit/principal-entry.ts'
import type { Context } from '@berth/core/context.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { readArtifact } from '@berth/core/sessions/artifacts/read-artifact.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { randomLabel } from '../ports/preview-host.ts'
import type { PreviewPlace } from '../ports/preview-place.ts'
import { viewHost } from './view-host.ts'
import { insertView } from './view-sql.ts'

const TICKET_MS = 60_000

/** Where views of artifacts are served from. */
export interface ViewPlace extends Pick<PreviewPlace, 'domain'> {
  readonly context: Context
}

/**
 * Gives a person a URL that opens an artifact once, at a host that nobody can guess.
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_artifact_not_viewable` if it is neither HTML nor PDF
 * @throws ApiError 503 `cloud_preview_unavailable` without a domain for previews
 */
export async function openView(
  { context, domain: domainOf }: ViewPlace,
  person: PersonPrincipal,
  key: SessionKey,
  artifactId: string,
  clientAddress: string,
): Promise<ArtifactViewLink> {
  const { db, clock } = context
  const artifact = await readArtifact(context, person, key, artifactId)
  if (artifactViewOf(artifact.name) === null) throw refusal('cloud_artifact_not_viewable')
  const domain = domainOf()
  if (domain === null) throw refusal('cloud_preview_unavailable')
  const label = randomLabel()
  const ticket = randomBytes(32).toString('base64url')
  const now = clock.now()
  const endsAt = new Date(now.getTime() + TICKET_MS)
  const view = {
    ...key,
    label,
    artifactId: artifact.id,
    personId: person.id,
    membershipId: person.membershipId,
    signInId: person.signInId,
    ticketDigest: credentialDigest(ticket),
    endsAt,
  }
  await db.transaction(async tx => {
    await insertView(tx, view)
    const about = { target: `session/${key.sessionId}`, details: { artifactId: artifact.id } }
    await appendAudit(tx, principalEntry(person, clientAddress, 'artifact_view.opened', about), now)
  })
  return {
    url: `${domain.scheme}://${viewHost(domain, label)}/.berth/open?ticket=${ticket}`,
    expiresAt: endsAt.toISOString(),
  }
}
