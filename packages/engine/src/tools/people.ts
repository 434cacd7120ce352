import type { ClientCapabilities } from '@agentclientprotocol/sdk'

/** Lets tools ask the people at the other end. */
export interface People {
  readonly sessionId: string
  readonly capabilities: ClientCapabilities
  /** Returns the client's id for a call of the model. */
  readonly callId: (toolCallId: string) => string
  /** Asks and waits without a limit; the prompt's time budget stands still meanwhile. */
  readonly ask: <Answer>(method: string, params: object, signal: AbortSignal | undefined) => Promise<Answer>
}

/** Returns options that withdraw a request from the client, and stop waiting for it, when the signal aborts. */
export const takenBackBy = (signal: AbortSignal | undefined) =>
  signal === undefined ? {} : { cancellationSignal: signal, stopWaitingOnCancel: true }
