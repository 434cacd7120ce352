import { type Static, Type } from 'typebox'
import { limits } from './limits.ts'
import { OutputRequest } from './output.ts'
import { Run } from './run.ts'
import { Count, closed, DateTime, open, opened, openString, Sha256, someText, Uuid } from './scalar.ts'
import { Creator, efforts } from './session.ts'

/** The Interaction that a Turn answers. */
export const ReplyTo = Type.Object({ interactionId: someText(limits.interactionIdCharacters) }, closed)

/** One durable input message of a Session. */
export const Turn = Type.Object(
  {
    id: Uuid,
    sessionId: Uuid,
    runId: Uuid,
    sequence: Type.Integer({
      minimum: 0,
      description: "Position among the Session's Turns, from 0; use it as the `after` cursor.",
    }),
    message: Type.String(),
    replyTo: Type.Optional(Type.Object({ interactionId: Type.String() }, open)),
    files: Type.Array(
      Type.Object({ name: Type.String(), mediaType: Type.String(), sizeBytes: Count, sha256: Sha256 }, open),
    ),
    output: Type.Optional(opened(OutputRequest, 'RequestedOutput')),
    steering: Type.Optional(
      openString(
        ['waiting', 'taken', 'missed'],
        'Present if the Turn joined a Run: the agent has yet to reach its next step, its conversation has the message, or the Run ended before. A missed message begins a Run of its own if the other completed or failed; `runId` then names that Run.',
      ),
    ),
    model: Type.Optional(Type.String()),
    effort: Type.Optional(openString(efforts, "How hard its model may think; absent for the model's default.")),
    runtime: Type.Optional(Type.String()),
    createdBy: Creator,
    createdAt: DateTime,
  },
  {
    title: 'Turn',
    description:
      'One input message of a Session. It starts a Run, with `replyTo` resumes the Run that asked, or with `mode` `steer` joins the active Run.',
    ...open,
  },
)

/** A page of Turns, in order. */
export const TurnPage = Type.Object(
  { turns: Type.Array(Turn), nextAfter: Type.Integer({ minimum: -1 }), hasMore: Type.Boolean() },
  { title: 'TurnPage', description: 'A page of Turns, in order.', ...open },
)

/** Response of `submitTurn`; `created` is false if an earlier request admitted the Turn. */
export const TurnAdmission = Type.Object(
  { created: Type.Boolean({ description: 'False if an earlier request admitted the Turn.' }), turn: Turn, run: Run },
  { title: 'TurnAdmission', description: 'An admitted Turn and its Run.', ...open },
)

/** A file for the agent, sent with a Turn. */
export const TurnFile = Type.Object(
  {
    name: someText(limits.fileNameCharacters, {
      pattern: '^(?!\\.{1,2}$)[^/]+$',
      description: 'File name: one path segment.',
    }),
    mediaType: Type.Optional(someText(limits.mediaTypeCharacters)),
    content: Type.Optional(Type.String({ format: 'byte', contentEncoding: 'base64' })),
    sha256: Type.Optional({
      ...Sha256,
      description: 'In place of `content`: the file of an earlier Turn of the Session that has this hash.',
    }),
  },
  { title: 'TurnFile', description: 'A file for the agent, sent with a Turn.', ...closed },
)

/** Body of `submitTurn`. */
export const SubmitTurn = Type.Object(
  {
    message: someText(limits.messageCharacters),
    replyTo: Type.Optional(ReplyTo),
    files: Type.Optional(Type.Array(TurnFile, { maxItems: limits.filesPerTurn })),
    output: Type.Optional(OutputRequest),
    mode: Type.Optional(
      Type.Enum(['start', 'steer'], {
        type: 'string',
        default: 'start',
        description:
          '`start` begins a Run, and is refused while one is active. `steer` gives the message to the agent at work, at its next step; without an active Run it begins one.',
      }),
    ),
    updateFromBase: Type.Optional(
      Type.Boolean({
        description:
          'Merge the newest commits of the branch that the work goes to into the workspace before the agent begins; for a Turn that begins a Run in a Session with a repository. What conflicts is left in the files, and the agent is told.',
      }),
    ),
  },
  { title: 'SubmitTurn', description: 'Submits a Turn.', ...closed },
)

export type Turn = Static<typeof Turn>
export type TurnPage = Static<typeof TurnPage>
export type TurnAdmission = Static<typeof TurnAdmission>
export type TurnFile = Static<typeof TurnFile>
export type SubmitTurn = Static<typeof SubmitTurn>
