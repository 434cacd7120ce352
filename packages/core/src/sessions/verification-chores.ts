import { environmentLimits } from '@berth/contract'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../context.ts'
import type { Chore } from '../housekeeping/chore.ts'
import { giveUpVerification } from './conclude-verification.ts'
import { holdSession } from './session/session-sql.ts'
import { subjectOf } from './verifications/begin-verification.ts'
import type { VerificationRow } from './verifications/verification.ts'
import { listOverdue } from './verifications/verification-sql.ts'

const HALF_MINUTE_MS = 30_000
const DAY_MS = 86_400_000
const AT_ONCE = 100

type Parts = Pick<Context, 'db' | 'clock' | 'wakeups' | 'log'>

/**
 * Returns the chore that ends verifications which no worker has begun in time, so that they hold no place of their
 * organization for ever. A worker ends those that run too long itself; those of a worker that never came back end here.
 */
export function verificationChores(context: Parts): readonly Chore[] {
  return [
    {
      name: 'give-up-verifications',
      intervalMs: HALF_MINUTE_MS,
      work: async signal => {
        const ended = await giveUpOverdue(context, signal)
        if (ended > 0) context.log.warn({ ended }, 'no worker has carried out verifications in time')
      },
    },
  ]
}

async function giveUpOverdue({ db, clock, wakeups }: Parts, signal: AbortSignal): Promise<number> {
  const now = clock.now().getTime()
  const queued = new Date(now - environmentLimits.verificationQueueSeconds * 1000)
  // Longer than all checks of a document may take.
  const running = new Date(now - DAY_MS)
  const isOverdue = ({ started_at, created_at }: VerificationRow) =>
    started_at === null ? created_at <= queued : started_at <= running
  const overdue = await listOverdue(db, { queued, running }, AT_ONCE)
  let ended = 0
  for (const row of overdue) {
    signal.throwIfAborted()
    const subject = subjectOf(row)
    // One without a sandbox ended as it was made.
    if (row.sandbox_id === null) continue
    const sandbox = { ...subject, sessionId: row.sandbox_id }
    const isOver = await db.transaction(async tx => {
      await holdSession(tx, subject)
      await holdSession(tx, sandbox)
      return giveUpVerification(tx, sandbox, row, isOverdue, clock.now())
    })
    if (!isOver) continue
    ended += 1
    for (const { organizationId, sessionId } of [subject, sandbox])
      wakeups.publish(topics.session(organizationId, sessionId), topics.control(organizationId, sessionId))
    wakeups.publish(topics.leases, topics.deliveries)
  }
  return ended
}
