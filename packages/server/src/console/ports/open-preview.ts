import type { PortList, PortPreview } from '@berth/contract'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { findLiveLease, type LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { SupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import { listPorts, SandboxSilent } from '@berth/sandboxes/port-line.ts'
import { issueTicket } from './issue-ticket.ts'
import { ANSWER_MS, type PreviewPlace } from './preview-place.ts'

const LIFE_MS = 12 * 60 * 60_000

/**
 * Lists the ports on which programs of a Session's sandbox listen. It starts nothing and renews no lease.
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `cloud_workspace_expired` without a sandbox
 * @throws ApiError 503 `cloud_preview_unavailable` if no way leads to the sandbox's machine
 */
export async function listSandboxPorts(
  place: PreviewPlace,
  person: PersonPrincipal,
  key: SessionKey,
  signal: AbortSignal,
): Promise<PortList> {
  const { lease, door } = await requireLease(place, person, key)
  const canPreview = place.domain() !== null
  const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  try {
    return {
      ports: [...(await listPorts(await door.attach(lease.id, within), within))],
      atRest: false,
      canPreview,
    }
  } catch (error) {
    if (error instanceof SandboxGoneError) throw refusal('cloud_workspace_expired')
    if (error instanceof SandboxSilent || within.aborted) return { ports: [], atRest: true, canPreview }
    throw error
  }
}

/**
 * Gives a person a URL that opens a preview of a port once, at a host that nobody can guess.
 * @throws ApiError as `listSandboxPorts`, and 503 `cloud_preview_unavailable` without a domain for previews
 */
export async function openPreview(
  place: PreviewPlace,
  person: PersonPrincipal,
  key: SessionKey,
  port: number,
  clientAddress: string,
): Promise<PortPreview> {
  const { lease } = await requireLease(place, person, key)
  const target = { port, leaseId: lease.id, artifactId: null }
  const request = { key, target, lifeMs: LIFE_MS, clientAddress, action: 'preview.opened', details: { port } } as const
  return issueTicket(place, person, request)
}

async function requireLease(
  place: PreviewPlace,
  person: PersonPrincipal,
  key: SessionKey,
): Promise<{ readonly lease: LeaseRow; readonly door: SupervisorDoor }> {
  await readSession(place.context, person, key)
  const lease = await findLiveLease(place.context.db, key)
  if (lease?.state !== 'attached') throw refusal('cloud_workspace_expired')
  const door = await place.doors.to(place.context.db, lease.host)
  if (door === null) throw refusal('cloud_preview_unavailable')
  return { lease, door }
}
