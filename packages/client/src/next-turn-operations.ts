import type { CallOptions } from './call-options.ts'
import type { NextTurn } from './generated/types.ts'
import type { Transport } from './transport.ts'

/** A message that becomes the Turn of this id; `replaces` names the person's own that it takes the place of. */
export interface NextTurnOrder {
  readonly turnId: string
  readonly message: string
  readonly replaces?: string
}

/** The message of a person that waits in a Session until its Run ends; each call returns it, or null. */
export interface NextTurnOperations {
  get(sessionId: string, options?: CallOptions): Promise<NextTurn | null>
  /** Leaves a message; null means that it is a Turn already. */
  put(sessionId: string, order: NextTurnOrder, options?: CallOptions): Promise<NextTurn | null>
  /** Takes back the message that waits. */
  withdraw(sessionId: string, options?: CallOptions): Promise<NextTurn | null>
}

export function nextTurnOperations(transport: Transport): NextTurnOperations {
  const call = async (method: 'GET' | 'PUT' | 'DELETE', sessionId: string, options?: CallOptions, body?: object) => {
    const path = ['cloud', 'sessions', sessionId, 'next-turn']
    const answer = await transport.json({ method, path, ...(body && { body }), options })
    return (answer.body as { nextTurn: NextTurn | null }).nextTurn
  }
  return {
    get: (sessionId, options) => call('GET', sessionId, options),
    put: (sessionId, order, options) => call('PUT', sessionId, options, order),
    withdraw: (sessionId, options) => call('DELETE', sessionId, options),
  }
}
