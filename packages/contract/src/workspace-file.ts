import { type Static, Type } from 'typebox'
import { Count, open, openString, Uuid } from './scalar.ts'

/** The states of a workspace that can be looked at. */
export const workspaceViews = ['workspace', 'sealed', 'base'] as const

/** Where the files of an answer come from. */
const WorkspaceView = Type.Object(
  {
    at: Type.Enum(workspaceViews, {
      type: 'string',
      description:
        '`workspace`: the sandbox as it is now; `sealed`: the last checkpoint; `base`: the commit at which the Session began.',
    }),
    sealedAt: Type.Optional(
      Type.String({ format: 'date-time', description: 'When the checkpoint was made; only for `sealed`.' }),
    ),
    runId: Type.Optional(Uuid),
    commit: Type.Optional(Type.String({ description: 'Only for `base`.' })),
  },
  open,
)

const kinds = ['directory', 'file', 'link', 'other'] as const

/** One entry of a directory. */
export const WorkspaceEntry = Type.Object(
  {
    name: Type.String({ description: 'A name that is not UTF-8 is quoted as git quotes it, and cannot be asked for.' }),
    kind: openString(kinds),
    sizeBytes: Type.Optional(Count),
    target: Type.Optional(Type.String({ description: 'Of a link, as it is written.' })),
    readable: Type.Boolean({ description: 'Whether `path` can name it.' }),
  },
  { title: 'WorkspaceEntry', ...open },
)

/** What a path of a workspace is. */
export const WorkspaceNode = Type.Object(
  {
    path: Type.String({ description: 'Below the workspace, without `.` and `..`; empty for the workspace itself.' }),
    kind: openString(['directory', 'file']),
    view: WorkspaceView,
    entries: Type.Optional(Type.Array(WorkspaceEntry, { description: 'Of a directory, directories first.' })),
    more: Type.Optional(Type.Boolean({ description: 'Whether the directory has more entries than these.' })),
    sizeBytes: Type.Optional(Count),
  },
  { title: 'WorkspaceNode', ...open },
)

export const WorkspaceNodeEnvelope = Type.Object({ node: WorkspaceNode }, { title: 'WorkspaceNodeEnvelope', ...open })

export type WorkspaceEntry = Static<typeof WorkspaceEntry>
export type WorkspaceNode = Static<typeof WorkspaceNode>
