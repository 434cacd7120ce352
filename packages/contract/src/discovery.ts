import { type Static, Type } from 'typebox'
import { capabilities } from './capability.ts'
import { Count, nullable, open, openString } from './scalar.ts'

/** What this deployment offers the caller (interface 2.12). */
export const Discovery = Type.Object(
  {
    limits: Type.Object(
      { maxMessageCharacters: Count, maxPageSize: Count, maxTurns: Count, maxFilesPerTurn: Count },
      open,
    ),
    artifacts: Type.Object(
      {
        conversationCheckpointMaxBytes: Count,
        workspaceCheckpointMaxBytes: Count,
        presentedFileMaxBytes: Count,
        presentedFilesMaxBytes: Count,
        presentedFilesMax: Count,
        summaryMaxBytes: Count,
      },
      open,
    ),
    environments: Type.Array(
      Type.Object(
        {
          kind: Type.String(),
          workspace: Type.Object({ maxCheckpointBytes: Count, leaseIdleSeconds: Count, leaseMaxSeconds: Count }, open),
        },
        open,
      ),
      { description: 'Sandbox platforms, the managed one first.' },
    ),
    capabilities: Type.Array(openString(capabilities), { description: 'What the credential holds.' }),
  },
  { title: 'Discovery', ...open },
)

/** An agent runtime of the catalog. */
export const Runtime = Type.Object(
  {
    id: openString(['native', 'shell']),
    name: Type.String(),
    version: nullable(Type.String({ description: 'Null where the runtime does not tell.' })),
    available: Type.Boolean(),
    reason: Type.Optional(Type.String({ description: 'Why it is not available.' })),
    models: Type.Optional(Type.Array(Type.String())),
  },
  { title: 'Runtime', ...open },
)

/** The catalog of runtimes. */
export const RuntimeList = Type.Object({ runtimes: Type.Array(Runtime) }, { title: 'RuntimeList', ...open })

export type Discovery = Static<typeof Discovery>
export type Runtime = Static<typeof Runtime>
export type RuntimeList = Static<typeof RuntimeList>
