import { type Static, Type } from 'typebox'
import { capabilities } from './capability.ts'
import { Count, nullable, open, openString } from './scalar.ts'

/** The limits of this deployment, and the capabilities of the caller. */
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
      { description: 'The sandbox platforms of the deployment; the managed one comes first.' },
    ),
    organizationEnvironments: Type.Object(
      {
        maxLive: Count,
        documentMaxBytes: Count,
        setupMaxCharacters: Count,
        maxVariables: Count,
        maxSecrets: Count,
        secretMaxBytes: Count,
        secretsMaxBytes: Count,
        archiveMaxBytes: Count,
        archivesMaxBytes: Count,
      },
      { description: 'Limits of the environments that an organization writes.', ...open },
    ),
    capabilities: Type.Array(openString(capabilities), { description: 'The capabilities that the credential holds.' }),
  },
  { title: 'Discovery', description: 'The limits of the deployment, and the capabilities of the caller.', ...open },
)

/** An agent runtime of the catalog. */
export const Runtime = Type.Object(
  {
    id: openString(['native', 'shell', 'demo']),
    name: Type.String(),
    version: nullable(Type.String({ description: 'Null if the runtime does not report its version.' })),
    available: Type.Boolean({ description: 'True if Sessions can use the runtime now.' }),
    reason: Type.Optional(Type.String({ description: 'Why the runtime is not available, in prose.' })),
    defaultModel: Type.Optional(
      Type.String({ description: 'The one of them that a Session without `model` uses; absent if the agent chooses.' }),
    ),
    models: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Ids and aliases that a Session with this runtime can name as `model`, as far as they are known.',
      }),
    ),
  },
  { title: 'Runtime', description: 'An agent runtime of the catalog.', ...open },
)

/** The catalog of runtimes. */
export const RuntimeList = Type.Object(
  { runtimes: Type.Array(Runtime) },
  { title: 'RuntimeList', description: 'The catalog of agent runtimes.', ...open },
)

export type Discovery = Static<typeof Discovery>
export type Runtime = Static<typeof Runtime>
export type RuntimeList = Static<typeof RuntimeList>
