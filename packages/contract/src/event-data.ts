import { Type } from 'typebox'
import { Decider, interactionKinds, interactionStatuses } from './interaction.ts'
import { limits } from './limits.ts'
import { OutputValue, runOutcomeFields } from './run.ts'
import { Count, DateTime, nullable, OpenObject, open, openString, Sha256, Uuid } from './scalar.ts'
import { Creator } from './session.ts'

/** `svc.run.started`: one per attempt. */
export const RunStarted = Type.Object(
  {
    status: Type.Literal('running'),
    attempt: Type.Integer({ minimum: 1 }),
    releaseSha: Type.Optional(
      Type.String({ description: 'The release whose engine the sandbox runs; absent for the built-in one.' }),
    ),
    keptCheckout: Type.Optional(
      Type.Literal(true, {
        description:
          "The repository's files are a checkout that the host keeps, below the sandbox's own. Absent without.",
      }),
    ),
  },
  { title: 'RunStartedData', description: 'An attempt of a Run has started.', ...open },
)

/** `svc.run.progress`: the start or end of a tool call, without its content. */
export const RunProgress = Type.Object(
  {
    activityId: Type.String(),
    category: Type.Literal('tool'),
    name: Type.String({ maxLength: limits.toolNameCharacters }),
    status: Type.Enum(['started', 'succeeded', 'failed'], { type: 'string' }),
    delegationId: Type.Optional(Type.String({ maxLength: 255 })),
    occurredAt: DateTime,
  },
  { title: 'RunProgressData', description: 'The start or the end of a tool call, without its content.', ...open },
)

/** The four terminal Events of a Run. */
export const RunEnded = Type.Object(
  {
    status: Type.Enum(['completed', 'failed', 'cancelled', 'crashed'], { type: 'string' }),
    ...runOutcomeFields,
    result: Type.Optional(Type.Object({ output: Type.Optional(OutputValue) }, open)),
  },
  { title: 'RunEndedData', description: 'How a Run ended and its cost.', ...open },
)

/** `svc.budget.reached`: most of a budget at which Runs wait for people is spent. */
export const BudgetReached = Type.Object(
  {
    scope: openString(['session', 'person', 'installation', 'organization'], 'Whose budget it is.'),
    spentUsd: Type.Number({ minimum: 0 }),
    limitUsd: Type.Number({ minimum: 0 }),
    share: Type.Number({ minimum: 0, maximum: 1, description: 'The share of the limit that is spent at least.' }),
  },
  { title: 'BudgetReachedData', description: 'Most of a budget for models is spent. Told once.', ...open },
)

/** `svc.output.rejected`: an answer is not the JSON value that the Turn asked for. */
export const OutputRejected = Type.Object(
  {
    answer: Type.Integer({ minimum: 1, maximum: 2, description: 'Which answer of the attempt it is.' }),
    issues: Type.Array(
      Type.Object({ path: Type.Array(Type.Union([Type.String(), Type.Integer()])), message: Type.String() }, open),
      { description: 'Places in the value that fail the schema; an empty path is the value itself.' },
    ),
    retried: Type.Boolean({ description: 'True if the agent was told, and answers once more.' }),
  },
  {
    title: 'OutputRejectedData',
    description: "An agent's answer is not the JSON value that its Turn asked for.",
    ...open,
  },
)

/** `svc.session.forked`: the first Event of a fork. */
export const SessionForked = Type.Object(
  {
    sourceSessionId: Uuid,
    sourceRunId: Uuid,
    sourceSequence: Type.Optional(
      Type.Integer({ minimum: 1, description: "Sequence of that Run's end in the log of the other Session." }),
    ),
    createdBy: Creator,
  },
  {
    title: 'SessionForkedData',
    description: 'The Session begins where a Run of another one ended, with its workspace and conversation.',
    ...open,
  },
)

/** `svc.turn.steered`: the outcome of a Turn that steers a Run. */
export const TurnSteered = Type.Object(
  {
    turnId: Uuid,
    status: openString(['taken', 'missed'], 'The agent has the message from here on, or the Run ended before.'),
    nextRunId: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'If it was missed: the Run that works on it now; absent if none does.',
      }),
    ),
  },
  {
    title: 'TurnSteeredData',
    description: 'The agent has a message that was sent while it worked, or missed it.',
    ...open,
  },
)

/** `svc.interaction.*`. */
export const InteractionChanged = Type.Object(
  {
    interactionId: Type.String(),
    kind: Type.Enum(interactionKinds, { type: 'string' }),
    status: Type.Enum(interactionStatuses, { type: 'string' }),
    request: Type.Optional(OpenObject),
    resolution: Type.Optional(Type.String()),
    decidedBy: Type.Optional(Decider),
    turnId: Type.Optional(Uuid),
    deadline: Type.Optional(DateTime),
  },
  { title: 'InteractionData', description: 'An Interaction was opened or closed.', ...open },
)

/** `svc.artifact.created`. */
export const ArtifactCreated = Type.Object(
  {
    artifactId: Type.String(),
    kind: openString(['run_result', 'presented_file', 'pull_request_record', 'check_output', 'statement']),
    name: Type.String(),
    mediaType: Type.String(),
    sizeBytes: Count,
    sha256: Sha256,
    publicationId: Type.Optional(Uuid),
  },
  { title: 'ArtifactCreatedData', description: 'The Session keeps a new Artifact.', ...open },
)

/** `svc.artifact.omitted`. */
export const ArtifactOmitted = Type.Object(
  {
    kind: openString([
      'run_result',
      'presented_file',
      'conversation_checkpoint',
      'home_checkpoint',
      'workspace_checkpoint',
      'revision',
    ]),
    name: Type.String(),
    sizeBytes: Type.Integer({
      minimum: 0,
      description: 'Size in bytes. For a checkpoint, the size reached when the service gave it up.',
    }),
    count: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Number of files, directories and links, if it exceeds the limit.' }),
    ),
    reason: Type.String({ description: 'Prose for people; it names the limit.' }),
  },
  {
    title: 'ArtifactOmittedData',
    description:
      'A file, a checkpoint or a revision exceeded a limit or could not be made, so the Session does not keep it.',
    ...open,
  },
)

/** `svc.publication.*`. */
export const PublicationChanged = Type.Object(
  {
    publicationId: Uuid,
    delivery: Type.Enum(['pull_request', 'direct_branch'], { type: 'string' }),
    status: Type.String(),
    result: Type.Optional(OpenObject),
    errorCode: Type.Optional(Type.String()),
    branch: Type.Optional(
      Type.String({ description: 'With `branch_exists`: the branch that is in the way, as in `lastError`.' }),
    ),
    suggestedBranch: Type.Optional(Type.String({ description: 'Another name for the wanted branch.' })),
    mergeId: Type.Optional(Uuid),
    mergedCommitSha: Type.Optional(Type.String()),
  },
  { title: 'PublicationData', description: 'A Publication or a Merge has ended.', ...open },
)

/** `svc.message.created`: a whole message, appended when it is complete. */
export const MessageCreated = Type.Object(
  {
    messageId: Type.String(),
    role: Type.Enum(['user', 'assistant', 'reasoning'], { type: 'string' }),
    text: Type.String(),
    turnId: Type.Optional(Uuid),
    truncated: Type.Optional(Type.Boolean()),
  },
  { title: 'MessageCreatedData', description: 'A whole message, appended when it is complete.', ...open },
)

/** `svc.activity.completed`: a whole tool call, appended when it has ended. */
export const ActivityCompleted = Type.Object(
  {
    activityId: Type.String(),
    name: Type.String(),
    kind: Type.String(),
    title: Type.String(),
    status: openString(['succeeded', 'failed']),
    input: Type.Optional(Type.Unknown()),
    output: Type.Optional(Type.String()),
    diff: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), oldText: nullable(Type.String()), newText: Type.String() }, open)),
    ),
    truncated: Type.Optional(Type.Boolean()),
    durationMs: Count,
  },
  { title: 'ActivityCompletedData', description: 'A whole tool call, appended when it has ended.', ...open },
)

/** `svc.context.compacted`. */
export const ContextCompacted = Type.Object(
  { tokensBefore: Count, tokensAfter: Count },
  {
    title: 'ContextCompactedData',
    description: 'The agent summarized its conversation to fit the context of its model.',
    ...open,
  },
)

/** `svc.conversation.cleared`: by the agent, then without data, or by a reset of the Session. */
export const ConversationCleared = Type.Object(
  {
    reason: Type.Optional(openString(['checkpoint_missing'])),
    lostRunIds: Type.Optional(
      Type.Array(Uuid, { description: 'Runs whose workspace and conversation are lost, oldest first.' }),
    ),
  },
  {
    title: 'ConversationClearedData',
    description: 'The conversation was cleared, by the agent or by a reset of the Session.',
    ...open,
  },
)

/** `svc.timeline.truncated`. */
export const TimelineTruncated = Type.Object(
  { droppedEvents: Count, reason: Type.String() },
  {
    title: 'TimelineTruncatedData',
    description: 'The log omits Events, because the Run exceeded its budget or its conversation was damaged.',
    ...open,
  },
)

/** `svc.delegation.started`. */
export const DelegationStarted = Type.Object(
  {
    delegationId: Type.String({
      maxLength: 255,
      description: "Marks the sub-agent's tool calls in `svc.run.progress`.",
    }),
    task: Type.String({ description: 'What the agent asked of it, cut at 16,000 bytes of UTF-8.' }),
    agent: Type.Optional(Type.String({ description: 'The name of its definition, if the workspace has one for it.' })),
  },
  { title: 'DelegationStartedData', description: 'The agent has given a task to a sub-agent.', ...open },
)

/** `svc.delegation.completed`. */
export const DelegationCompleted = Type.Object(
  {
    delegationId: Type.String(),
    childSessionId: Type.Optional(Uuid),
    status: Type.String(),
    summary: Type.Optional(Type.String()),
  },
  { title: 'DelegationCompletedData', description: 'A sub-agent has ended.', ...open },
)

/** `svc.workspace.expired`. */
export const WorkspaceExpired = Type.Object(
  { leaseId: Type.String(), expiredAt: DateTime },
  { title: 'WorkspaceExpiredData', description: 'The lease of a sandbox has ended.', ...open },
)
