import { Type } from 'typebox'
import { operation } from '../operation.ts'
import { Uuid } from '../scalar.ts'
import { OpenTerminal, TerminalTicket } from '../terminal.ts'
import { SessionPath } from './parameters.ts'

const shared = {
  access: 'bearer',
  principal: 'person',
  tag: 'Sessions',
  capability: 'svc.cloud.turns:submit',
} as const

/** Terminals of people in the sandboxes of Sessions. What goes through one is a WebSocket's, so no operation. */
export const terminalOperations = {
  openTerminal: operation({
    ...shared,
    method: 'POST',
    path: '/cloud/sessions/{sessionId}/terminals',
    summary: 'Open a terminal in the workspace',
    description:
      "Gives a ticket that opens the terminal's WebSocket once within 30 seconds. It is bound to the person, the Session and the console's origin. The workspace must be attached; `restoreWorkspace` brings it back. With `terminalId` the ticket is for a terminal that is there, whose last output comes again. With `previewMinutes` the sandbox runs for that time, but not past the end of its lease, and not on a machine that is being drained; `listPorts` tells how the preview goes.",
    params: SessionPath,
    body: OpenTerminal,
    responses: { 201: { description: 'The ticket.', schema: TerminalTicket } },
    errors: [
      'cloud_preview_unavailable',
      'cloud_session_not_found',
      'cloud_terminal_not_found',
      'cloud_terminal_limit_reached',
      'cloud_terminal_unavailable',
      'cloud_workspace_expired',
      'cloud_workspace_starting',
    ],
  }),
  endTerminal: operation({
    ...shared,
    method: 'DELETE',
    path: '/cloud/terminals/{terminalId}',
    summary: 'End a terminal',
    description:
      "Ends its shell with everything that runs on the terminal. A Session's preview may be ended by everybody who could start it.",
    params: Type.Object({ terminalId: Uuid }),
    responses: { 204: { description: 'The terminal has ended.' } },
    errors: ['cloud_terminal_not_found'],
  }),
} as const
