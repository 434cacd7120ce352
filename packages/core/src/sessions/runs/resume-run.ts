import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { recordPast } from '@berth/platform/telemetry/observe.ts'
import { hasOpenQuestion } from '../interactions/interaction-sql.ts'
import { appendEvents } from '../log/append.ts'
import { offerParked } from './fence-sql.ts'
import { endOpenCalls } from './open-calls.ts'
import { markResumed, takeOpenCalls } from './run-sql.ts'

/**
 * Resumes a Run that waited for people. If the Run was parked, the process that made its tool calls is gone. The next
 * process receives the answer, so the call that asked ends here. The caller holds the Session's lock and wakes the
 * workers.
 */
export async function resumeRun(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  const since = await markResumed(tx, key, runId, now)
  if (since !== null) {
    const waited = { beganMs: since.getTime(), endedMs: now.getTime() }
    tx.afterCommit?.(() => recordPast({ ...key, runId }, 'wait for people', waited))
  }
  if (!(await offerParked(tx, key, runId))) return
  const ends = endOpenCalls(runId, await takeOpenCalls(tx, key, runId), true, now)
  if (ends.length > 0) await appendEvents(tx, key, ends, now)
}

/** Resumes the Run once none of its questions is open. The caller holds the Session's lock. */
export async function resumeIfAnswered(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  if (!(await hasOpenQuestion(tx, key))) await resumeRun(tx, key, runId, now)
}
