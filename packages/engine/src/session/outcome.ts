import type { PromptResponse, StopReason } from '@agentclientprotocol/sdk'
import type { AgentSession } from '@earendil-works/pi-coding-agent'
import { faultOfMessage } from './fault-of-message.ts'
import type { LimitReason, Limits } from './limits.ts'

type AgentMessage = AgentSession['messages'][number]

/** Why a prompt ended. */
export interface Outcome {
  readonly stopReason: 'completed' | 'error' | 'cost_budget' | 'cost_unknown' | LimitReason
  readonly errorCode?: string
}

/** Returns the outcome from the limit that stopped the work, or else from the model's last message. */
export function outcomeOf(limits: Limits, last: AgentMessage | undefined): Outcome {
  const { reason } = limits
  if (reason !== null) return { stopReason: reason }
  const fault = faultOfMessage(last)
  if (fault === 'cost_budget_exceeded') return { stopReason: 'cost_budget' }
  if (fault === 'cost_unknown') return { stopReason: 'cost_unknown' }
  if (fault !== null) return { stopReason: 'error', errorCode: fault }
  if (last?.role === 'assistant' && last.stopReason === 'aborted') return { stopReason: 'aborted' }
  if (last?.role === 'assistant' && last.stopReason === 'length') return { stopReason: 'max_response' }
  return { stopReason: 'completed' }
}

const acpReasons: Partial<Record<Outcome['stopReason'], StopReason>> = {
  aborted: 'cancelled',
  max_response: 'max_tokens',
  max_turns: 'max_turn_requests',
  turn_budget: 'max_turn_requests',
}

/** Returns the outcome as an ACP response, with the platform's own reason in `_meta`. */
export function answerOf(outcome: Outcome, turns: number): PromptResponse {
  const { stopReason, errorCode } = outcome
  return {
    stopReason: acpReasons[stopReason] ?? 'end_turn',
    _meta: { berth: { stopReason, turns, ...(errorCode !== undefined && { errorCode }) } },
  }
}
