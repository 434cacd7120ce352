import type { EnvironmentTrial } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { holdSession } from '../session/session-sql.ts'
import { concludeTrial } from './conclude-trial.ts'
import { requireTrial, toTrial } from './trial.ts'
import { findLapsedTrials, findTrial, hasLapsed } from './trial-sql.ts'

const AT_ONCE = 100

type Parts = Pick<Context, 'db' | 'clock' | 'wakeups'>

/**
 * Stops a trial that the caller sees; one that has ended stays as it ended.
 * @throws ApiError 404 `environment_trial_not_found`
 */
export async function stopTrial(
  { db, clock, wakeups }: Parts,
  principal: Principal,
  environmentId: string,
  key: SessionKey,
): Promise<EnvironmentTrial> {
  const row = await db.transaction(async tx => {
    await holdSession(tx, key)
    const found = requireTrial(principal, environmentId, await findTrial(tx, key))
    await concludeTrial(tx, key, 'asked', clock.now())
    return (await findTrial(tx, key)) ?? found
  })
  notify(wakeups, key)
  return toTrial(row)
}

/**
 * Stops the trials that are past their bound, and those that nobody has read or followed for a while: their caller has
 * gone without a word.
 * @returns how many
 */
export async function stopLapsedTrials({ db, clock, wakeups }: Parts, signal: AbortSignal): Promise<number> {
  for (let stopped = 0; ; ) {
    const lapsed = await findLapsedTrials(db, clock.now(), AT_ONCE)
    for (const { stop, ...key } of lapsed) {
      signal.throwIfAborted()
      const ended = await db.transaction(async tx => {
        await holdSession(tx, key)
        const now = clock.now()
        // Somebody may have come back before the lock.
        return (await hasLapsed(tx, key, now)) && concludeTrial(tx, key, stop, now)
      })
      if (!ended) continue
      stopped += 1
      notify(wakeups, key)
    }
    if (lapsed.length < AT_ONCE) return stopped
  }
}

function notify(wakeups: Context['wakeups'], { organizationId, sessionId }: SessionKey): void {
  wakeups.publish(topics.session(organizationId, sessionId), topics.control(organizationId, sessionId), topics.leases)
}
