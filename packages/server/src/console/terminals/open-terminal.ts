import { randomBytes, randomUUID } from 'node:crypto'
import { maxTerminals, type TerminalTicket } from '@berth/contract'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import type { BrowserSession } from '@berth/core/identity/guard/browser-authority.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { findLiveLease, isDrained, touchLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { lockVisibleSession } from '@berth/core/sessions/session/read-session.ts'
import {
  countTerminals,
  extendPreview,
  findIdleTerminal,
  insertTerminal,
  renewTicket,
} from '@berth/core/sessions/terminals/terminal-sql.ts'
import { invalidField, refusal, sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { closeTerminal } from './end-terminal.ts'
import type { TerminalPlace } from './terminal-place.ts'

const TICKET_MS = 30_000
const MINUTE_MS = 60_000

/** Who asks for a terminal. */
export interface TerminalCaller {
  readonly person: PersonPrincipal
  readonly browser: BrowserSession | null
  readonly clientAddress: string
}

/**
 * Gives a person a ticket for a terminal in the Session's workspace: a new one, one of theirs, or the workspace's preview.
 * It starts no compute: the workspace must be attached. Where there are too many, one that nobody looks at makes room.
 * @throws ApiError 404 `cloud_session_not_found` or `cloud_terminal_not_found`
 * @throws ApiError 409 `cloud_workspace_expired` or `cloud_terminal_limit_reached`
 * @throws ApiError 400 `invalid_request` for minutes of a terminal that is there
 * @throws ApiError 503 `cloud_workspace_starting`, or `cloud_terminal_unavailable` if no way leads to the sandbox's machine
 * @throws ApiError 503 `cloud_preview_unavailable` for a preview on a machine that is drained
 */
export async function openTerminal(
  place: TerminalPlace,
  { person, browser, clientAddress }: TerminalCaller,
  key: SessionKey,
  requested: {
    readonly terminalId?: string | undefined
    readonly columns?: number
    readonly rows?: number
    readonly previewMinutes?: number
  },
): Promise<TerminalTicket> {
  const { db, clock, wakeups, consoleUrl } = place.context
  const now = clock.now()
  const secret = randomBytes(32).toString('base64url')
  const endsAt = new Date(now.getTime() + TICKET_MS)
  const { origin } = new URL(consoleUrl)
  const { terminalId, previewMinutes } = requested
  // Else a terminal that nobody looks at would keep its sandbox awake.
  if (terminalId !== undefined && previewMinutes !== undefined)
    throw invalidField(['previewMinutes'], 'does not go with terminalId: leave that out to start or extend the preview')
  let id = terminalId?.toLowerCase() ?? randomUUID()
  let again = terminalId !== undefined
  let idle: Awaited<ReturnType<typeof findIdleTerminal>> = null
  await db.transaction(async tx => {
    const session = await lockVisibleSession(tx, person, key)
    if (session.archived_at !== null) throw sessionNotFound()
    const lease = await findLiveLease(tx, key)
    if (lease === null) throw refusal('cloud_workspace_expired')
    const leftMs = lease.bound_at.getTime() - now.getTime()
    if (previewMinutes !== undefined && leftMs <= 0) throw refusal('cloud_workspace_expired')
    if (lease.state !== 'attached') throw refusal('cloud_workspace_starting')
    if ((await place.doors.to(tx, lease.host)) === null) throw refusal('cloud_terminal_unavailable')
    // A preview stops a drain until its end, which would move for as long as somebody extends it.
    if (previewMinutes !== undefined && (await isDrained(tx, lease.id)))
      throw refusal('cloud_preview_unavailable', {
        message: 'The machine is being drained: it starts and extends no previews. The next Run works on another one.',
      })
    const previewEndsAt =
      previewMinutes === undefined ? null : new Date(now.getTime() + Math.min(previewMinutes * MINUTE_MS, leftMs))
    const { columns = 80, rows = 24 } = requested
    const terminal = {
      ...key,
      id,
      leaseId: lease.id,
      personId: person.id,
      membershipId: person.membershipId,
      signInId: person.signInId,
      browserSessionId: browser?.id ?? null,
      origin,
      columns,
      rows,
      previewEndsAt,
      ticket: { digest: credentialDigest(secret), endsAt, awakeUntil: previewEndsAt ?? endsAt },
    }
    if (previewEndsAt !== null) await touchLease(tx, key, now, previewEndsAt)
    const extended = previewEndsAt === null ? null : await extendPreview(tx, terminal)
    if (extended !== null) {
      id = extended
      again = true
    } else if (terminalId !== undefined) {
      if (!(await renewTicket(tx, terminal))) throw refusal('cloud_terminal_not_found')
    } else {
      if ((await countTerminals(tx, lease.id)) >= maxTerminals) {
        idle = await findIdleTerminal(tx, lease.id, now)
        if (idle === null) throw refusal('cloud_terminal_limit_reached')
      }
      await insertTerminal(tx, terminal, now)
    }
    const about = {
      target: `session/${key.sessionId}`,
      details: { terminalId: id, again, ...(previewMinutes !== undefined && { previewMinutes }) },
    }
    await appendAudit(tx, personEntry(person, clientAddress, 'terminal.opened', about), now)
  })
  if (idle !== null) await closeTerminal(place, idle, 'closed')
  wakeups.publish(topics.terminals)
  const url = new URL(`/cloud/terminals/${id}`, origin)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return { terminalId: id, url: url.href, ticket: secret, expiresAt: endsAt.toISOString() }
}
