import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { readSession } from '@berth/core/sessions/session/read-session.ts'
import { findTerminal } from '@berth/core/sessions/terminals/terminal-sql.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { personOf } from '../person-of.ts'
import { closeTerminal } from './end-terminal.ts'
import { openTerminal } from './open-terminal.ts'
import type { TerminalPlace } from './terminal-place.ts'

/** Serves the tickets of terminals, and their end. */
export function terminalHandlers(place: TerminalPlace): Pick<Handlers, 'openTerminal' | 'endTerminal'> {
  return {
    openTerminal: async ({ principal, browser, clientAddress, params: { sessionId }, body }) => {
      const person = personOf(principal)
      const key = { organizationId: person.organizationId, sessionId }
      return { status: 201, body: await openTerminal(place, { person, browser, clientAddress }, key, body) }
    },

    endTerminal: async ({ principal, params: { terminalId } }) => {
      const person = personOf(principal)
      const { id: personId, organizationId } = person
      const terminal = await findTerminal(place.context.db, { organizationId, personId, id: terminalId })
      if (terminal === null || terminal.state === 'ended') throw refusal('cloud_terminal_not_found')
      if (terminal.person_id !== personId) {
        await readSession(place.context, person, { organizationId, sessionId: terminal.session_id })
      }
      await closeTerminal(place, terminal, 'closed')
      return { status: 204 }
    },
  }
}
