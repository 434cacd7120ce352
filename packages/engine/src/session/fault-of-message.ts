import type { AgentSession } from '@earendil-works/pi-coding-agent'

type AgentMessage = AgentSession['messages'][number]

/** Returns the fault that ended a model's message, as an `errorCode`; null if it ended well. */
export function faultOfMessage(message: AgentMessage | undefined): string | null {
  if (message?.role !== 'assistant' || message.stopReason !== 'error') return null
  return /^[a-z_]+(?=:)/.exec(message.errorMessage ?? '')?.[0] ?? 'model_response_invalid'
}
