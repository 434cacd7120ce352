import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { appendAudit } from '../../accounts/audit/append.ts'
import type { Context } from '../../context.ts'
import { auditSecretUses } from '../egress/secret-uses.ts'
import { deleteSession, findPurgeable, lockPurgeable } from './purge-sql.ts'

const AT_ONCE = 100

/**
 * Deletes Sessions that were archived before a time, each with its whole log in one transaction, and audits each. Blobs
 * that nothing else names go with the next sweep of the store. A Session that still has a sandbox or a delivery under
 * way waits for a later round.
 * @param signal ends the work between two Sessions
 * @param find which Sessions are meant
 * @returns the number of purged Sessions
 */
export async function purgeSessions(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  before: Date,
  signal: AbortSignal,
  find: typeof findPurgeable = findPurgeable,
): Promise<number> {
  for (let purged = 0; ; ) {
    signal.throwIfAborted()
    const found = await find(db, before, AT_ONCE)
    let deleted = 0
    for (const key of found) {
      signal.throwIfAborted()
      if (await purgeSession({ db, clock }, key, before)) deleted += 1
    }
    purged += deleted
    if (found.length < AT_ONCE || deleted === 0) return purged
  }
}

async function purgeSession(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  key: SessionKey,
  before: Date,
): Promise<boolean> {
  return db.transaction(
    async tx => {
      const archivedAt = await lockPurgeable(tx, key, before)
      if (archivedAt === null) return false
      const now = clock.now()
      // The audit log outlives the Session, and has the uses of its last hour only by now.
      await auditSecretUses(tx, key, now)
      const details = await deleteSession(tx, key, now)
      await appendAudit(
        tx,
        {
          organizationId: key.organizationId,
          actor: { kind: 'service', id: null, name: null },
          action: 'session.purged',
          target: `session/${key.sessionId}`,
          outcome: 'done',
          details: { ...details, archivedAt: archivedAt.toISOString() },
        },
        now,
      )
      return true
    },
    { unbounded: true },
  )
}
