import type { AgentSession } from '@earendil-works/pi-coding-agent'

type AgentMessage = AgentSession['messages'][number]

/** The fault that a message of the model ended with, in the words of `errorCode`; null where it ended well. */
export function faultOfMessage(message: AgentMessage | undefined): string | null {
  if (message?.role !== 'assistant' || message.stopReason !== 'error') return null
  return /^[a-z_]+(?=:)/.exec(message.errorMessage ?? '')?.[0] ?? 'model_response_invalid'
}
