import { stopReasons } from '@berth/contract'
import type { Outcome } from '../runs/run.ts'
import { asText, berthMeta } from './acp-message.ts'

type Json = Readonly<Record<string, unknown>>

/** Longest run summary that is kept; a longer one is left out whole (interface 8.5). */
export const MAX_SUMMARY_BYTES = 100_000

/** Said by the platform alone (interface 6.4), of agents that it lost. */
const platformReasons: readonly string[] = ['engine_unreachable', 'execution_deadline']

/**
 * What an agent's answer to its prompt means for the Run. ACP has words for why an agent stopped, not for whether it
 * failed; an agent that knows says so in `_meta.berth` (`stopReason`, `errorCode`, `summary`).
 */
export function outcomeOfAnswer(result: Json | null, error: Json | null): Outcome {
  if (result === null) {
    return { status: 'failed', stopReason: 'error', errorCode: error === null ? 'agent_protocol' : 'agent_error' }
  }
  const meta = berthMeta(result)
  const summary = asText(meta['summary'])
  const told = summary === undefined ? {} : { summary }
  const errorCode = asText(meta['errorCode'])
  const stopReason = stopReasons.find(reason => reason === meta['stopReason'] && !platformReasons.includes(reason))
  if (errorCode !== undefined && /^[a-z0-9_]{1,64}$/.test(errorCode)) {
    return { status: 'failed', stopReason: stopReason ?? 'error', errorCode, ...told }
  }
  switch (result['stopReason']) {
    case 'end_turn':
      return { status: 'completed', stopReason: stopReason ?? 'completed', ...told }
    case 'max_tokens':
      return { status: 'completed', stopReason: 'max_response', ...told }
    case 'max_turn_requests':
      return { status: 'completed', stopReason: 'max_turns', ...told }
    case 'cancelled':
      return { status: 'cancelled', stopReason: 'aborted', ...told }
    case 'refusal':
      return { status: 'failed', stopReason: 'error', errorCode: 'agent_refused', ...told }
    default:
      return { status: 'failed', stopReason: 'error', errorCode: 'agent_protocol', ...told }
  }
}
