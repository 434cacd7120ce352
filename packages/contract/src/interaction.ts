import { type Static, type TSchema, Type } from 'typebox'
import { interactionLimits, limits } from './limits.ts'
import { closed, DateTime, nullable, OpenObject, open, openString, someText, text, Uuid } from './scalar.ts'

/** Kinds of Interaction. The first two suspend the Run; an approval is decided while it runs. */
export const interactionKinds = ['ask_user', 'exit_plan_mode', 'approval'] as const

export const interactionStatuses = ['open', 'resolved', 'expired'] as const

/** How an Interaction was closed. */
export const resolutions = [
  'approved',
  'denied',
  'always_allowed',
  'project_allowed',
  'turn_allowed',
  'timed_out',
  'cancelled',
  'workspace_lost',
  'session_archived',
  'run_cancelled',
  'run_ended',
  'request_gone',
  'authority_revoked',
] as const

/** The possible decisions on an approval; `allow_project` only where `rememberScopes` has `project`. */
export const decisionChoices = ['allow_once', 'allow_turn', 'allow_chat', 'allow_project', 'deny'] as const

/** How long a decision applies to similar requests; `project` is the Session's environment, for a host to reach. */
export const rememberScopes = ['chat', 'project', 'turn'] as const

export const confinements = ['sandbox', 'network', 'outside'] as const

/** The kinds of tool calls, as in ACP. */
export const toolKinds = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const

const optional = <T extends TSchema>(schema: T) => Type.Optional(schema)
const bound = Type.Integer({ minimum: 0, maximum: interactionLimits.answerCharacters })
const items = Type.Integer({ minimum: 0, maximum: interactionLimits.options })

/** One question of a form; with empty `options` it is a text or number field. */
export const Question = Type.Object(
  {
    question: text(interactionLimits.questionCharacters),
    options: Type.Array(text(interactionLimits.optionCharacters), { maxItems: interactionLimits.options }),
    header: optional(text(interactionLimits.headerCharacters)),
    recommendedIndex: optional(Type.Integer({ minimum: 0 })),
    multiSelect: optional(Type.Boolean()),
    allowCustom: optional(Type.Boolean()),
    fieldId: optional(text(interactionLimits.fieldCharacters)),
    customFieldId: optional(text(interactionLimits.fieldCharacters)),
    optionValues: optional(
      Type.Array(Type.Unknown(), { maxItems: interactionLimits.options, description: 'One value for each option.' }),
    ),
    valueType: optional(Type.Enum(['string', 'number', 'integer', 'boolean', 'string[]'], { type: 'string' })),
    required: optional(Type.Boolean()),
    defaultValue: optional(Type.Unknown()),
    format: optional(Type.Enum(['email', 'uri', 'date', 'date-time'], { type: 'string' })),
    minLength: optional(bound),
    maxLength: optional(bound),
    pattern: optional(text(interactionLimits.patternCharacters)),
    minimum: optional(Type.Number()),
    maximum: optional(Type.Number()),
    minItems: optional(items),
    maxItems: optional(items),
  },
  { ...open },
)

/** One of the agent's own options, shown for context. */
export const ApprovalOption = Type.Object(
  {
    optionId: Type.String(),
    name: text(interactionLimits.optionCharacters),
    kind: Type.Enum(['allow_once', 'allow_always', 'reject_once', 'reject_always'], { type: 'string' }),
    description: optional(text(interactionLimits.optionCharacters)),
  },
  { ...open },
)

/** A pending approval. */
export const Approval = Type.Object(
  {
    requestId: someText(limits.interactionIdCharacters, { description: 'Send it back with the decision.' }),
    runId: Uuid,
    deadline: Type.Integer({ description: 'Unix time in milliseconds; the approval expires then.' }),
    toolName: Type.String({ minLength: 1 }),
    title: optional(Type.String()),
    input: optional(OpenObject),
    options: optional(Type.Array(ApprovalOption)),
    rememberScopes: optional(Type.Array(Type.Enum(rememberScopes, { type: 'string' }))),
    kind: optional(Type.Enum(toolKinds, { type: 'string' })),
    reason: optional(Type.String()),
    destination: optional(Type.String()),
    itemId: optional(Type.String()),
    confinement: optional(Type.Enum(confinements, { type: 'string' })),
  },
  { ...open },
)

/** The agent's request, by kind. */
export const InteractionRequest = Type.Object(
  {
    questions: optional(
      Type.Array(Question, { maxItems: interactionLimits.questions, description: 'With `ask_user`.' }),
    ),
    prompt: optional(text(interactionLimits.questionCharacters, { description: 'With `exit_plan_mode`.' })),
    plan: optional(
      text(interactionLimits.planCharacters, { description: 'With `exit_plan_mode`: the plan, in Markdown.' }),
    ),
    planTruncated: optional(
      Type.Boolean({ description: 'Set if the plan was too long and was cut; the end of `plan` says so too.' }),
    ),
    approval: optional(Approval),
  },
  { description: "The agent's request; its fields depend on the kind of the Interaction.", ...open },
)

/** A question, a plan or an approval that waits for people. */
export const Interaction = Type.Object(
  {
    id: Type.String({ description: 'Opaque; send it back unchanged.' }),
    sessionId: Uuid,
    runId: Uuid,
    kind: Type.Enum(interactionKinds, { type: 'string' }),
    status: Type.Enum(interactionStatuses, { type: 'string' }),
    request: InteractionRequest,
    response: optional(Type.Object({ turnId: Uuid }, open)),
    deadline: optional(DateTime),
    resolution: optional(openString(resolutions)),
    openedAt: DateTime,
    resolvedAt: optional(DateTime),
    expiredAt: optional(DateTime),
  },
  {
    title: 'Interaction',
    description: 'A question, a plan or an approval for which an agent waits for people.',
    ...open,
  },
)

/** The open Interactions of a Session, oldest first; there is only one page. */
export const InteractionList = Type.Object(
  { interactions: Type.Array(Interaction) },
  { title: 'InteractionList', description: 'The open Interactions of a Session, oldest first.', ...open },
)

/** Body of `decideInteraction`. */
export const DecideInteraction = Type.Object(
  {
    requestId: someText(limits.interactionIdCharacters),
    choice: Type.Enum(decisionChoices, { type: 'string' }),
    idempotencyKey: Type.String({
      pattern: '^[A-Za-z0-9._:-]{1,128}$',
      description: 'Create one for each decision, and reuse it when you repeat the request.',
    }),
  },
  { title: 'DecideInteraction', description: 'Decides an approval.', ...closed },
)

/** Who has decided an approval. */
export const Decider = Type.Object(
  { kind: openString(['app_installation', 'person']), id: Type.String() },
  { title: 'Decider', description: 'The installation or the person whose decision counts.', ...open },
)

/** The outcome of an approval. */
export const DecisionOutcome = Type.Object(
  {
    interactionId: Type.String(),
    choice: Type.Enum(decisionChoices, { type: 'string' }),
    status: Type.Enum(interactionStatuses, { type: 'string' }),
    resolution: nullable(openString(resolutions)),
    decidedBy: optional(Decider),
  },
  { ...open },
)

/** Response of `decideInteraction`. */
export const DecisionEnvelope = Type.Object({ outcome: DecisionOutcome }, { title: 'DecisionEnvelope', ...open })

export type InteractionKind = (typeof interactionKinds)[number]
export type InteractionStatus = (typeof interactionStatuses)[number]
export type Resolution = (typeof resolutions)[number]
export type DecisionChoice = (typeof decisionChoices)[number]
export type Question = Static<typeof Question>
export type Approval = Static<typeof Approval>
export type ApprovalOption = Static<typeof ApprovalOption>
export type InteractionRequest = Static<typeof InteractionRequest>
export type Interaction = Static<typeof Interaction>
export type InteractionList = Static<typeof InteractionList>
export type DecideInteraction = Static<typeof DecideInteraction>
export type DecisionOutcome = Static<typeof DecisionOutcome>
