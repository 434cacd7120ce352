import { type Static, Type } from 'typebox'
import { limits } from './limits.ts'
import { closed, DateTime, open, Uuid } from './scalar.ts'

/** Most terminals that a workspace has at once. */
export const maxTerminals = 8
/** Most columns and rows of a terminal. */
export const maxTerminalCells = 1000

const cells = { minimum: 1, maximum: maxTerminalCells } as const

export const OpenTerminal = Type.Object(
  {
    terminalId: Type.Optional(
      Type.String({ format: 'uuid', description: 'A terminal of the person in this workspace to return to.' }),
    ),
    columns: Type.Optional(Type.Integer({ ...cells, default: 80 })),
    rows: Type.Optional(Type.Integer({ ...cells, default: 24 })),
    previewMinutes: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.previewMinutes,
        description:
          "Makes it the workspace's preview: it runs the environment's `preview.command`, or else a shell, and the sandbox runs for so long, whether anybody looks or not. A workspace has one; asking again, without `terminalId`, extends it.",
      }),
    ),
  },
  { title: 'OpenTerminal', ...closed },
)

/** What opens a terminal's WebSocket once. */
export const TerminalTicket = Type.Object(
  {
    terminalId: Uuid,
    url: Type.String({ format: 'uri', description: 'Of the WebSocket.' }),
    ticket: Type.String({
      description: "For `Sec-WebSocket-Protocol: berth.terminal.v1, ticket.<ticket>`, with the console's `Origin`.",
    }),
    expiresAt: DateTime,
  },
  { title: 'TerminalTicket', ...open },
)

export type TerminalTicket = Static<typeof TerminalTicket>
