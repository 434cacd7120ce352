import { type Static, Type } from 'typebox'
import { DateTime, nullable, open, Uuid } from './scalar.ts'

const Preview = Type.Object(
  {
    terminalId: Uuid,
    state: Type.Enum(['starting', 'running', 'exited', 'failed'], {
      type: 'string',
      description: '`exited`: the command has; the sandbox runs on. `failed`: the command could not be started.',
    }),
    endsAt: Type.String({ format: 'date-time', description: 'When the sandbox comes to rest again.' }),
    exitCode: nullable(Type.Integer({ description: 'Null while the command runs, and after a signal.' })),
    output: Type.String({ description: 'The last 8 KiB that the command wrote, as a terminal gets it.' }),
  },
  { description: 'What keeps the sandbox running between Turns, and the command that it runs.', ...open },
)

export const PortList = Type.Object(
  {
    ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
      description: 'On which programs of the sandbox listen, in order.',
    }),
    atRest: Type.Boolean({ description: 'Whether the sandbox stands still, as it does between Turns.' }),
    preview: Type.Optional(Preview),
    previewCommand: Type.Optional(
      Type.Object(
        { command: Type.String(), port: Type.Optional(Type.Integer()) },
        { description: "The sandbox's environment's `preview`, if it has one.", ...open },
      ),
    ),
    canPreview: Type.Boolean({ description: 'Whether this deployment has a domain for previews.' }),
  },
  { title: 'PortList', ...open },
)

export const PortPreview = Type.Object(
  {
    url: Type.String({ format: 'uri', description: 'Opens the preview once.' }),
    expiresAt: DateTime,
  },
  { title: 'PortPreview', ...open },
)

export type PortList = Static<typeof PortList>
export type PortPreview = Static<typeof PortPreview>
