import type { PortList, PortPreview } from '@berth/contract'
import { documentOfLease } from '@berth/core/environments/fix-environment.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { findLiveLease, type LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { findPreviewTerminal, type TerminalRow } from '@berth/core/sessions/terminals/terminal-sql.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { SupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import { listPorts, SandboxSilent } from '@berth/sandboxes/port-line.ts'
import { readTerminal, TerminalLineBroken, type TerminalOutput } from '@berth/sandboxes/terminal-line.ts'
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
  const { db, clock } = place.context
  const { lease, door } = await requireLease(place, person, key)
  const [document, terminal] = await Promise.all([
    documentOfLease(db, lease),
    findPreviewTerminal(db, lease.id, clock.now()),
  ])
  const rest = {
    canPreview: place.domain() !== null,
    ...(document?.preview !== undefined && { previewCommand: document.preview }),
  }
  const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  try {
    const ports = [...(await listPorts(await door.attach(lease.id, within), within))]
    const read =
      terminal?.state === 'started'
        ? await readTerminal(await door.attach(lease.id, within), terminal.id, within)
        : null
    return { ports, atRest: false, ...previewOf(terminal, read), ...rest }
  } catch (error) {
    if (error instanceof SandboxGoneError) throw refusal('cloud_workspace_expired')
    const isSilent = error instanceof SandboxSilent || error instanceof TerminalLineBroken || within.aborted
    if (isSilent) return { ports: [], atRest: true, ...previewOf(terminal, null), ...rest }
    throw error
  }
}

function previewOf(terminal: TerminalRow | null, read: TerminalOutput | null): Pick<PortList, 'preview'> {
  if (terminal?.preview_ends_at == null) return {}
  const { exitCode = null, output = '' } = read ?? {}
  const live = read?.hasExited ? 'exited' : 'running'
  const state = ({ requested: 'starting', started: live, ended: 'failed' } as const)[terminal.state]
  return {
    preview: { terminalId: terminal.id, state, endsAt: terminal.preview_ends_at.toISOString(), exitCode, output },
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
