import type { AllowedHost } from '@berth/contract'
import { sessionNotFound } from '@berth/platform/kit/refusal.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { fitsHost } from '@berth/platform/network/host-pattern.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import { readStored } from '../../environments/document.ts'
import { conflict } from '../../environments/environment-conflict.ts'
import { findEnvironment } from '../../environments/environment-sql.ts'
import { acceptProposedHost, proposeHost } from '../../environments/proposed-hosts.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { listOpenAbout } from '../interactions/host-sql.ts'
import { interactionEvent } from '../interactions/interaction.ts'
import { resolveOpen } from '../interactions/interaction-sql.ts'
import { findLiveLease } from '../leases/lease-sql.ts'
import { appendEvents } from '../log/append.ts'
import { lockVisibleSession } from '../session/read-session.ts'

/**
 * Allows a host for the environment of a Session, as `allow_project` does, whether or not an approval is open. It is decided
 * under the Session's lock, so that whoever decides an open approval meanwhile comes before or after.
 * @throws ApiError 404 `cloud_session_not_found`
 * @throws ApiError 409 `environment_conflict` if the Session has no environment, or too many hosts wait
 */
export async function allowHost(
  context: Context,
  principal: Principal,
  key: SessionKey,
  host: string,
): Promise<AllowedHost> {
  const now = context.clock.now()
  const { environmentId, state } = await context.db.transaction(async tx => {
    const session = await lockVisibleSession(tx, principal, key)
    if (session.archived_at !== null) throw sessionNotFound()
    const lease = await findLiveLease(tx, key)
    // A sandbox keeps its environment, whichever the Session is bound to since.
    const environmentId = lease?.environment_id ?? session.environment_id
    if (environmentId === null) throw conflict('the Session has no environment, so none of its hosts is refused by one')
    return { environmentId, state: await allow(tx, key, { environmentId, host }, principal, now) }
  })
  const { organizationId, sessionId } = key
  context.wakeups.publish(topics.session(organizationId, sessionId), topics.control(organizationId, sessionId))
  context.wakeups.publish(topics.hosts(organizationId, environmentId))
  return { host, state }
}

async function allow(
  tx: Queryable,
  key: SessionKey,
  { environmentId, host }: { readonly environmentId: string; readonly host: string },
  { kind, id }: Principal,
  now: Date,
): Promise<AllowedHost['state']> {
  const by = { kind, id }
  const environment = { organizationId: key.organizationId, environmentId }
  const found = await findEnvironment(tx, environment)
  if (found === null) throw new Error(`there is no environment ${environmentId}`)
  const { mode, hosts } = readStored(found.document).network
  await proposeHost(tx, environment, { host, sessionId: key.sessionId, by }, now)
  for (const { id: interactionId } of await listOpenAbout(tx, key, host)) {
    const answering = { resolution: 'project_allowed', choice: 'allow_project', by } as const
    const resolved = await resolveOpen(tx, key, interactionId, answering, now)
    await appendEvents(tx, key, [interactionEvent(resolved)], now)
  }
  const isNamed = mode === 'open' || hosts.some(pattern => fitsHost(host, pattern))
  // It is written down all the same: this sandbox may be of an earlier revision.
  if (isNamed) await acceptProposedHost(tx, environment, host)
  return isNamed ? 'named' : mode === 'ask' ? 'allowed' : 'proposed'
}
