import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk'

/** The client at the other end, as tools use it. */
export interface People {
  readonly client: AgentContext
  readonly sessionId: string
  readonly capabilities: ClientCapabilities
  /** The id under which the client knows a call of the model's. */
  readonly callId: (toolCallId: string) => string
}

/** A request that is over with this signal: it is taken back from the client, and its answer no longer waited for. */
export const takenBackBy = (signal: AbortSignal | undefined) =>
  signal === undefined ? {} : { cancellationSignal: signal, stopWaitingOnCancel: true }
