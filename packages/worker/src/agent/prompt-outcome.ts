import { stopReasons } from '@berth/contract'
import type { Outcome } from '@berth/core/sessions/runs/run.ts'
import type { Json } from '@berth/platform/kit/json.ts'
import { ownCredentials, type Redactor } from '@berth/platform/kit/redactor.ts'
import { asText, berthMeta } from './acp-message.ts'

/** Longest run summary that is kept; a longer one is left out whole. */
export const MAX_SUMMARY_BYTES = 100_000

/** Stop reasons that only the platform gives, to agents that it lost. */
const platformReasons: readonly string[] = ['engine_unreachable', 'execution_deadline']

/** Stop reasons that mean by themselves that the agent failed. */
const failures: readonly string[] = ['error', 'repeated_tool_failure']

/**
 * Returns the Run's outcome for an agent's answer to its prompt. ACP has fields for why an agent stopped, not for
 * whether it failed. An agent that knows says so in `_meta.berth`: `stopReason`, `errorCode`, `turns`, `summary`, and
 * `summaryCut` if the summary is only the end of a longer text.
 *
 * A Run that a budget stopped is `completed`, with that reason. `error`, `repeated_tool_failure` or any `errorCode`
 * makes it `failed`; `aborted` makes it `cancelled`.
 */
export function outcomeOfAnswer(result: Json | null, error: Json | null, redactor: Redactor = ownCredentials): Outcome {
  if (result === null) {
    return { status: 'failed', stopReason: 'error', errorCode: error === null ? 'agent_protocol' : 'agent_error' }
  }
  const meta = berthMeta(result)
  const summary = asText(meta['summary'])
  const turns = Number(meta['turns'])
  const reported = {
    ...(summary !== undefined && { summary: redactor.ending(summary, meta['summaryCut'] === true) }),
    ...(Number.isSafeInteger(meta['turns']) && turns >= 0 && turns < 2 ** 31 && { turns }),
  }
  return { ...endOf(result, meta), ...reported }
}

function endOf(result: Json, meta: Json): Outcome {
  const stopReason = stopReasons.find(reason => reason === meta['stopReason'] && !platformReasons.includes(reason))
  const errorCode = asText(meta['errorCode'])
  if (errorCode !== undefined && /^[a-z0-9_]{1,64}$/.test(errorCode)) {
    return { status: 'failed', stopReason: stopReason ?? 'error', errorCode }
  }
  if (stopReason !== undefined && failures.includes(stopReason)) {
    return { status: 'failed', stopReason, errorCode: stopReason === 'error' ? 'agent_error' : stopReason }
  }
  if (stopReason === 'aborted') return { status: 'cancelled', stopReason }
  switch (result['stopReason']) {
    case 'end_turn':
      return { status: 'completed', stopReason: stopReason ?? 'completed' }
    case 'max_tokens':
      return { status: 'completed', stopReason: stopReason ?? 'max_response' }
    case 'max_turn_requests':
      return { status: 'completed', stopReason: stopReason ?? 'max_turns' }
    case 'cancelled':
      return { status: 'cancelled', stopReason: 'aborted' }
    case 'refusal':
      return { status: 'failed', stopReason: 'error', errorCode: 'agent_refused' }
    default:
      return { status: 'failed', stopReason: 'error', errorCode: 'agent_protocol' }
  }
}
