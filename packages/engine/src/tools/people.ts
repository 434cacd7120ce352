import type { ClientCapabilities } from '@agentclientprotocol/sdk'

/** The people at the other end, as tools ask them. */
export interface People {
  readonly sessionId: string
  readonly capabilities: ClientCapabilities
  /** The id under which the client knows a call of the model's. */
  readonly callId: (toolCallId: string) => string
  /** Asks, and waits for as long as it takes; no time of the prompt's budget passes meanwhile. */
  readonly ask: <Answer>(method: string, params: object, signal: AbortSignal | undefined) => Promise<Answer>
}

/** A request that is over with this signal: it is taken back from the client, and its answer no longer waited for. */
export const takenBackBy = (signal: AbortSignal | undefined) =>
  signal === undefined ? {} : { cancellationSignal: signal, stopWaitingOnCancel: true }
