import type { Context } from '@berth/core/context.ts'
import { abandonFollowUps } from '@berth/core/sessions/follow-ups/abandon-follow-ups.ts'
import { holdSession } from '@berth/core/sessions/session/session-sql.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { derivedId } from '../derived-id.ts'
import type { TriggerRow } from '../trigger-sql.ts'
import type { Withdrawal } from './github-event.ts'
import { findPublishedSession } from './published-session-sql.ts'
import { threadOfEvent } from './settle-event.ts'

/**
 * Stops following what came of an issue or pull request, because somebody took it from Berth: the pull requests of its
 * conversation's Session, or the pull request itself. A Run that goes on is not stopped, but nothing of it is pushed.
 */
export async function withdraw(
  { db, clock, wakeups }: Pick<Context, 'db' | 'clock' | 'wakeups'>,
  trigger: TriggerRow,
  of: Withdrawal,
): Promise<void> {
  const { organization_id: organizationId, installation_id: installationId } = trigger
  const { host, repositoryId, number, isPull } = of
  const thread = threadOfEvent(of)
  if (thread === null || number === null) return
  const pull = { host, repositoryId, number }
  const published = isPull ? await findPublishedSession(db, { organizationId, installationId }, pull) : null
  const key = { organizationId, sessionId: published ?? derivedId('thread', trigger.id, thread) }
  const stopped = await db.transaction(async tx => {
    await holdSession(tx, key)
    return abandonFollowUps(tx, key, { reason: 'person_asked', pullNumber: isPull ? number : null }, clock.now())
  })
  if (stopped.length > 0) wakeups.publish(topics.deliveries, topics.session(organizationId, key.sessionId))
}
