import type { EnvironmentTrial } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { Context } from '../../context.ts'
import type { Principal } from '../../identity/guard/principal.ts'
import { requireTrial, toTrial } from './trial.ts'
import { findTrial, watchTrial } from './trial-sql.ts'
import { watchedFrom } from './watch.ts'

/**
 * Reads a trial that the caller sees. Whoever asks again and again follows it, so each read keeps it.
 * @throws ApiError 404 `environment_trial_not_found`
 */
export async function readTrial(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  principal: Principal,
  environmentId: string,
  key: SessionKey,
): Promise<EnvironmentTrial> {
  const row = requireTrial(principal, environmentId, await findTrial(db, key))
  if (row.ended_at === null) await watchTrial(db, key, watchedFrom(clock.now()))
  return toTrial(row)
}
