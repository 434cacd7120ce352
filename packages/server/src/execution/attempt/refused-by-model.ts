import { lastRefusalOf } from '../../gateway/accounting/last-refusal.ts'
import { NATIVE_RUNTIME } from '../../runtimes/catalog.ts'
import type { Outcome } from '../../sessions/runs/run.ts'
import type { RunClaim } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'

/** A Run's `errorCode` for a code of the gateway; any other refusal is about the request itself. */
const errorCodes: Readonly<Record<string, string>> = {
  context_length_exceeded: 'model_context_exceeded',
  insufficient_quota: 'model_rate_limited',
  internal_error: 'model_unavailable',
  rate_limit_exceeded: 'model_rate_limited',
  service_unavailable: 'model_unavailable',
  upstream_credential_refused: 'model_credential_refused',
  upstream_cut: 'model_unavailable',
  upstream_failed: 'model_unavailable',
  upstream_invalid_response: 'model_response_invalid',
  upstream_overloaded: 'model_unavailable',
  upstream_rate_limited: 'model_rate_limited',
  upstream_timeout: 'model_unavailable',
  upstream_unreachable: 'model_unavailable',
}

/**
 * Returns the outcome, `failed` if the gateway refused the last model request of a Run that its agent calls completed.
 * Agents of others end a prompt as usual then, with the gateway's words as their answer. A request that came after the
 * answer, for a title or a summary, changes nothing about it. The native agent judges by itself, and a script by its exit
 * code.
 * @param answeredAt when the agent's answer was over; null if its last act was no answer
 */
export async function failIfRefused(
  context: ExecutionContext,
  claim: RunClaim,
  outcome: Outcome,
  answeredAt: Date | null,
): Promise<Outcome> {
  if (outcome.status !== 'completed' || outcome.stopReason !== 'completed') return outcome
  const runtime = claim.run.runtime ?? NATIVE_RUNTIME
  if (runtime === NATIVE_RUNTIME || context.runtimes.find(runtime)?.stateless === true) return outcome
  const refused = await lastRefusalOf(context.db, claim, answeredAt)
  if (refused === null) return outcome
  return {
    ...outcome,
    status: 'failed',
    stopReason: 'error',
    errorCode: errorCodes[refused] ?? 'model_request_refused',
  }
}
