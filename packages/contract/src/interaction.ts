import { type Static, type TSchema, Type } from 'typebox'
import { interactionLimits, limits } from './limits.ts'
import { closed, DateTime, nullable, OpenObject, open, openString, someText, text, Uuid } from './scalar.ts'

/** What an agent may ask of people (interface 2.6). The first two suspend the Run; the third is decided while it runs. */
export const interactionKinds = ['ask_user', 'exit_plan_mode', 'approval'] as const

export const interactionStatuses = ['open', 'resolved', 'expired'] as const

/** How an Interaction was closed (interface 2.6). */
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

/** What can be decided on an approval (interface 4.6). */
export const decisionChoices = ['allow_once', 'allow_turn', 'allow_chat', 'deny'] as const

/** How long a decision is remembered for requests like it; `project` comes only from an operator's rules. */
export const rememberScopes = ['chat', 'project', 'turn'] as const

export const confinements = ['sandbox', 'network', 'outside'] as const

/** What a tool call does, in ACP's words. */
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

/** One question of a form; an empty `options` is a free-text or numeric field. */
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
      Type.Array(Type.Unknown(), { maxItems: interactionLimits.options, description: 'One for each option.' }),
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

/** An option of the agent's own, shown for context. */
export const ApprovalOption = Type.Object(
  {
    optionId: Type.String(),
    name: text(interactionLimits.optionCharacters),
    kind: Type.Enum(['allow_once', 'allow_always', 'reject_once', 'reject_always'], { type: 'string' }),
    description: optional(text(interactionLimits.optionCharacters)),
  },
  { ...open },
)

/** A live approval (interface 2.6). */
export const Approval = Type.Object(
  {
    requestId: someText(limits.interactionIdCharacters, { description: 'To be sent back with the decision.' }),
    runId: Uuid,
    deadline: Type.Integer({ description: 'Unix time in milliseconds.' }),
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

/** What is asked, by kind. */
export const InteractionRequest = Type.Object(
  {
    questions: optional(Type.Array(Question, { maxItems: interactionLimits.questions, description: '`ask_user`.' })),
    prompt: optional(text(interactionLimits.questionCharacters, { description: '`exit_plan_mode`.' })),
    plan: optional(text(interactionLimits.planCharacters, { description: '`exit_plan_mode`.' })),
    planTruncated: optional(
      Type.Boolean({ description: 'Set if the plan is longer than is shown; the end of `plan` says so too.' }),
    ),
    approval: optional(Approval),
  },
  { description: 'What is asked, by kind.', ...open },
)

/** A question, a plan or an approval that waits for people (interface 2.6). */
export const Interaction = Type.Object(
  {
    id: Type.String({ description: 'Opaque; sent back verbatim.' }),
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
  { title: 'Interaction', description: 'What an agent asks of people.', ...open },
)

/** The open Interactions of a Session, oldest first; not paged (interface 4.6). */
export const InteractionList = Type.Object(
  { interactions: Type.Array(Interaction) },
  { title: 'InteractionList', ...open },
)

/** Body of a decision on an approval (interface 4.6). */
export const DecideInteraction = Type.Object(
  {
    requestId: someText(limits.interactionIdCharacters),
    choice: Type.Enum(decisionChoices, { type: 'string' }),
    idempotencyKey: Type.String({
      pattern: '^[A-Za-z0-9._:-]{1,128}$',
      description: 'Minted for each decision and used again when it is repeated.',
    }),
  },
  { title: 'DecideInteraction', ...closed },
)

/** What became of an approval (interface 4.6). */
export const DecisionOutcome = Type.Object(
  {
    interactionId: Type.String(),
    choice: Type.Enum(decisionChoices, { type: 'string' }),
    status: Type.Enum(interactionStatuses, { type: 'string' }),
    resolution: nullable(openString(resolutions)),
  },
  { ...open },
)

/** Answer of a decision. */
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
