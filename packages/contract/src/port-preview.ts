import { type Static, Type } from 'typebox'
import { DateTime, open } from './scalar.ts'

export const PortList = Type.Object(
  {
    ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
      description: 'On which programs of the sandbox listen, in order.',
    }),
    atRest: Type.Boolean({ description: 'Whether the sandbox stands still, as it does between Turns.' }),
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
