import { randomBytes } from 'node:crypto'
import type { PortPreview } from '@berth/contract'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { principalEntry } from '@berth/core/accounts/audit/principal-entry.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { previewHost, randomLabel } from './preview-host.ts'
import type { PreviewPlace } from './preview-place.ts'
import { insertPreview, type PreviewTarget } from './preview-sql.ts'

const TICKET_MS = 60_000

/** A preview that a person asks for. */
export interface PreviewRequest {
  readonly key: SessionKey
  readonly target: PreviewTarget
  readonly lifeMs: number
  readonly clientAddress: string
  /** How the audit log names it. */
  readonly action: 'preview.opened' | 'artifact_view.opened'
  readonly details: Readonly<Record<string, unknown>>
}

/**
 * Gives a person a URL that opens a preview once, at a host that nobody can guess.
 * @throws ApiError 503 `cloud_preview_unavailable` without a domain for previews
 */
export async function issueTicket(
  { context: { db, clock }, domain: domainOf }: Pick<PreviewPlace, 'context' | 'domain'>,
  person: PersonPrincipal,
  { key, target, lifeMs, clientAddress, action, details }: PreviewRequest,
): Promise<PortPreview> {
  const domain = domainOf()
  if (domain === null) throw refusal('cloud_preview_unavailable')
  const now = clock.now()
  const label = randomLabel()
  const ticket = randomBytes(32).toString('base64url')
  const ticketEndsAt = new Date(now.getTime() + TICKET_MS)
  const preview = {
    ...key,
    ...target,
    label,
    personId: person.id,
    membershipId: person.membershipId,
    signInId: person.signInId,
    ticketDigest: credentialDigest(ticket),
    ticketEndsAt,
    endsAt: new Date(now.getTime() + lifeMs),
  }
  await db.transaction(async tx => {
    await insertPreview(tx, preview)
    const about = { target: `session/${key.sessionId}`, details }
    await appendAudit(tx, principalEntry(person, clientAddress, action, about), now)
  })
  return {
    url: `${domain.scheme}://${previewHost(domain, { ...target, label })}/.berth/open?ticket=${ticket}`,
    expiresAt: ticketEndsAt.toISOString(),
  }
}
