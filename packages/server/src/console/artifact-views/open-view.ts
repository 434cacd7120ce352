import { type ArtifactViewLink, artifactViewOf } from '@berth/contract'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { readArtifact } from '@berth/core/sessions/artifacts/read-artifact.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { issueTicket } from '../ports/issue-ticket.ts'
import type { PreviewPlace } from '../ports/preview-place.ts'

/** How long the content may be loaded again, as by reloading the frame or by saving a PDF. */
const LIFE_MS = 60 * 60_000

/** Where views of artifacts are served from. */
export type ViewPlace = Pick<PreviewPlace, 'context' | 'domain'>

/**
 * Gives a person a URL that opens an artifact once, at a host that nobody can guess.
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_artifact_not_viewable` if it is neither HTML nor PDF
 * @throws ApiError 503 `cloud_preview_unavailable` without a domain for previews
 */
export async function openView(
  place: ViewPlace,
  person: PersonPrincipal,
  key: SessionKey,
  artifactId: string,
  clientAddress: string,
): Promise<ArtifactViewLink> {
  const { id, name } = await readArtifact(place.context, person, key, artifactId)
  if (artifactViewOf(name) === null) throw refusal('cloud_artifact_not_viewable')
  const target = { port: null, leaseId: null, artifactId: id }
  const about = { action: 'artifact_view.opened', details: { artifactId: id } } as const
  return issueTicket(place, person, { key, target, lifeMs: LIFE_MS, clientAddress, ...about })
}
