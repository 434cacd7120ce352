import type { CallOptions } from './call-options.ts'
import type { TerminalTicket } from './generated/types.ts'
import type { Transport } from './transport.ts'

/** The size of a terminal's window, and the terminal to come back to; without one, a new one is made. */
export interface TerminalOrder {
  readonly terminalId?: string
  readonly columns?: number
  readonly rows?: number
}

/** Terminals of people in the sandboxes of Sessions. */
export interface TerminalOperations {
  /** Asks once for a ticket, which opens the terminal's WebSocket once within 30 seconds. */
  open(sessionId: string, order: TerminalOrder, options?: CallOptions): Promise<TerminalTicket>
  /** Ends a terminal, with everything that runs on it. */
  end(terminalId: string, options?: CallOptions): Promise<void>
}

export function terminalOperations(transport: Transport): TerminalOperations {
  return {
    async open(sessionId, order, options) {
      const { body } = await transport.json({
        method: 'POST',
        path: ['cloud', 'sessions', sessionId, 'terminals'],
        body: order,
        once: true,
        options,
      })
      return body as TerminalTicket
    },
    async end(terminalId, options) {
      await transport.json({ method: 'DELETE', path: ['cloud', 'terminals', terminalId], options })
    },
  }
}
