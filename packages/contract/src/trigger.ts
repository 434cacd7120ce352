import { type Static, Type } from 'typebox'
import { TitleLine } from './commit.ts'
import { FollowUpRequest } from './follow-up.ts'
import { triggerLimits } from './limits.ts'
import { deliveries } from './publication.ts'
import { closed, DateTime, nullable, OpenObject, open, opened, openString, someText, Uuid } from './scalar.ts'
import { CreateSession } from './session.ts'

/** When a trigger fires by itself. */
export const TriggerSchedule = Type.Object(
  {
    cron: someText(triggerLimits.cronCharacters, {
      description: 'Minute, hour, day of the month, month and day of the week, such as `0 7 * * 1-5`.',
    }),
    timeZone: Type.Optional(
      someText(triggerLimits.timeZoneCharacters, {
        description: 'Name of a time zone, such as `Europe/Berlin`; `UTC` if absent.',
      }),
    ),
  },
  { title: 'TriggerSchedule', ...closed },
)

/** How other systems sign what they send. */
export const hookSchemes = ['svc', 'github', 'slack', 'linear'] as const

const fieldPath = (description: string) =>
  someText(triggerLimits.fieldCharacters, { pattern: '^[\\w-]+(\\.[\\w-]+)*$', description })

/** Where a delivery's key stands; one of the two. */
const HookKey = Type.Object(
  {
    header: Type.Optional(someText(100, { pattern: '^[A-Za-z0-9-]+$', description: 'Name of a header.' })),
    field: Type.Optional(fieldPath('Path of a field of the body, such as `event_id`.')),
  },
  { ...closed },
)

export const githubEventKinds = ['comment', 'label', 'issue_assigned', 'check_failed', 'review'] as const

const githubForks = ['refuse', 'base'] as const

/** Which events of GitHub fire a trigger. The repository and the branch of the Session are the event's. */
const GitHubEvents = Type.Object(
  {
    on: Type.Array(Type.Enum(githubEventKinds), {
      minItems: 1,
      uniqueItems: true,
      description:
        'A new comment with the mention, the label added, an issue assigned, a check or a suite of checks failed, or a review of a pull request that requests changes or comments.',
    }),
    mention: Type.Optional(
      someText(100, { pattern: '^\\S+$', description: 'A word that a comment must hold; `@berth` if absent.' }),
    ),
    label: Type.Optional(someText(100, { description: 'Name of the label; `berth` if absent.' })),
    assignee: Type.Optional(
      someText(100, {
        pattern: '^\\S+$',
        description: "Login that an issue is assigned to, a user's or an App's without `[bot]`; `berth` if absent.",
      }),
    ),
    repositories: Type.Optional(
      Type.Array(someText(200, { pattern: '^[^/\\s]+/[^/\\s]+$' }), {
        minItems: 1,
        maxItems: triggerLimits.repositories,
        description: 'As `owner/name`; all that are granted to the installation if absent.',
      }),
    ),
    forks: Type.Optional(
      Type.Enum(githubForks, {
        description:
          'What becomes of events of pull requests from forks: `refuse` if absent; `base` begins on the base branch, without the code of the fork.',
      }),
    ),
  },
  { ...closed },
)

/** How a trigger takes what other systems post to its address. */
export const TriggerHook = Type.Object(
  {
    scheme: Type.Enum(hookSchemes, { description: 'Who signs, and how.' }),
    key: Type.Optional(HookKey),
    github: Type.Optional(GitHubEvents),
    where: Type.Optional(
      Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), {
        maxProperties: triggerLimits.conditions,
        description:
          'Values that fields of the body must have, by their paths; null: the field must not be there. Others are ignored.',
      }),
    ),
  },
  { title: 'TriggerHook', ...closed },
)

const { title, model, effort, runtime, source, environment, budget } = CreateSession.properties

/** Settings of the Sessions that a trigger makes. */
const TriggerSession = Type.Object(
  { title, model, effort, runtime, source, environment, budget },
  { title: 'TriggerSession', ...closed },
)

/** Where title and text of what a trigger publishes come from. */
const triggerTexts = ['summary', 'output'] as const

const deliverDescription = "How the changes of a trigger's Runs are published."

/** How the changes of a trigger's Runs are published. */
export const TriggerDeliver = Type.Object(
  {
    kind: Type.Enum(deliveries, { type: 'string', description: 'A pull request, or a commit on the branch itself.' }),
    draft: Type.Optional(Type.Boolean({ description: 'Open the pull request as a draft; `false` if absent.' })),
    title: Type.Optional({
      ...TitleLine,
      description: 'The title, with placeholders as in `message`; by default it is made of what `text` says.',
    }),
    text: Type.Optional(
      Type.Enum(triggerTexts, {
        type: 'string',
        description:
          "`summary` if absent: title and text are the agent's last message. `output` asks the agent for both as JSON.",
      }),
    ),
    verified: Type.Optional(
      Type.Boolean({ description: 'Verify the revision first, and publish it only if that has passed.' }),
    ),
    followUp: Type.Optional(FollowUpRequest),
  },
  { title: 'TriggerDeliver', description: deliverDescription, ...closed },
)

/** Body of `putTrigger`. */
export const PutTrigger = Type.Object(
  {
    name: someText(triggerLimits.nameCharacters),
    message: someText(triggerLimits.messageCharacters, {
      description:
        'The message of each Turn. `{{path.to.field}}` stands for a field of the payload, `{{path.to.field?}}` for one that may be missing.',
    }),
    session: Type.Optional(TriggerSession),
    schedule: Type.Optional(TriggerSchedule),
    thread: Type.Optional(
      Type.Array(fieldPath('Path of a field of the payload.'), {
        minItems: 1,
        maxItems: triggerLimits.threadFields,
        description:
          'Fields of the payload, of which the first that is there names the conversation. Deliveries of one conversation are Turns of one Session.',
      }),
    ),
    hook: Type.Optional(TriggerHook),
    deliver: Type.Optional({
      ...TriggerDeliver,
      description: 'Publish the changes of each Run that completes; if absent, somebody has to.',
    }),
    enabled: Type.Optional(Type.Boolean({ description: '`true` if absent.' })),
    installationId: Type.Optional(
      Type.String({
        format: 'uuid',
        description:
          "The installation whose Sessions it makes. A person names it for a new trigger; an installation's is its own.",
      }),
    ),
  },
  { title: 'PutTrigger', ...closed },
)

const DeliverOfTrigger = opened(
  Type.Object(
    { ...TriggerDeliver.properties, followUp: Type.Optional(opened(FollowUpRequest, 'FollowUpOfTrigger')) },
    { description: deliverDescription },
  ),
  'DeliverOfTrigger',
)

/** A message and settings of Sessions, each of which is made by a delivery or by the schedule. */
export const Trigger = Type.Object(
  {
    id: Uuid,
    installationId: Type.String({ format: 'uuid', description: 'The installation that it belongs to.' }),
    name: Type.String(),
    message: Type.String(),
    session: opened(TriggerSession, 'SessionOfTrigger'),
    schedule: Type.Optional(Type.Object({ cron: Type.String(), timeZone: Type.String() }, open)),
    thread: Type.Optional(Type.Array(Type.String())),
    hook: Type.Optional(
      Type.Object(
        {
          url: Type.String({ format: 'uri', description: 'Where other systems post.' }),
          scheme: openString(hookSchemes),
          key: Type.Object({ header: Type.Optional(Type.String()), field: Type.Optional(Type.String()) }, open),
          where: Type.Optional(OpenObject),
          github: Type.Optional(OpenObject),
          hasSecret: Type.Boolean({ description: 'Without one, everything is refused.' }),
          previousSecretUntil: Type.Optional(
            Type.String({ format: 'date-time', description: 'The secret before is good until then.' }),
          ),
        },
        open,
      ),
    ),
    deliver: Type.Optional(DeliverOfTrigger),
    enabled: Type.Boolean(),
    nextAt: Type.Optional(Type.String({ format: 'date-time', description: 'When the schedule fires next.' })),
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  { title: 'Trigger', ...open },
)

export const TriggerEnvelope = Type.Object({ trigger: Trigger }, open)
export const TriggerList = Type.Object({ triggers: Type.Array(Trigger) }, open)

/** Body of `putTriggerDelivery`. */
export const PutTriggerDelivery = Type.Object(
  { payload: Type.Optional(OpenObject) },
  { title: 'PutTriggerDelivery', ...closed },
)

/** Body of `replaceTriggerSecret`. */
export const ReplaceTriggerSecret = Type.Object(
  {
    secret: Type.Optional(
      Type.String({
        minLength: 8,
        maxLength: triggerLimits.secretCharacters,
        pattern: '^[!-~]+$',
        description: 'A secret that the other system has chosen, as Slack and Linear do; absent: a new one is made.',
      }),
    ),
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: triggerLimits.overlapSeconds,
        description: 'How long the secret before is good as well; a day if absent.',
      }),
    ),
  },
  { title: 'ReplaceTriggerSecret', ...closed },
)

/** A secret, which is shown this once. */
export const TriggerSecret = Type.Object(
  {
    secret: Type.String(),
    url: Type.String({ format: 'uri', description: 'Where other systems post.' }),
    previousSecretUntil: Type.Optional(DateTime),
  },
  { title: 'TriggerSecret', ...open },
)

export const triggerDeliveryStatuses = ['waiting', 'admitted', 'refused'] as const

const triggerReportStates = ['nothing', 'begun', 'asking', 'ended', 'delivered'] as const

/** How the changes of a delivery's Run are published; the last three are ends. */
const triggerPublicationStates = ['waiting', 'verifying', 'publishing', 'published', 'unchanged', 'failed'] as const

/** One firing of a trigger; it makes one Turn, once. */
export const TriggerDelivery = Type.Object(
  {
    key: Type.String(),
    status: openString(triggerDeliveryStatuses),
    sessionId: Type.String({
      format: 'uuid',
      description: 'The Session of its Turn; it exists once the delivery is admitted.',
    }),
    turnId: Uuid,
    thread: Type.Optional(Type.String({ description: 'The conversation that it belongs to.' })),
    errorCode: Type.Optional(nullable(Type.String({ description: 'Why it was refused, or why it still waits.' }))),
    publication: Type.Optional(
      Type.Object(
        {
          state: openString(
            triggerPublicationStates,
            '`waiting` until the Run has ended and its changes are stored; `unchanged`: there was nothing to publish.',
          ),
          id: Type.Optional(Type.String({ format: 'uuid', description: 'The Publication of its Session.' })),
          verificationId: Type.Optional(Type.String({ format: 'uuid' })),
          errorCode: Type.Optional(Type.String({ description: 'Why nothing was published, or why it still waits.' })),
          branch: Type.Optional(Type.String()),
          pullRequest: Type.Optional(
            Type.Object({ number: Type.Integer(), url: Type.String({ format: 'uri' }) }, open),
          ),
        },
        { description: 'How its changes are published, if the trigger delivers them.', ...open },
      ),
    ),
    report: Type.Optional(
      Type.Object(
        {
          told: openString(triggerReportStates),
          commentUrl: Type.Optional(Type.String({ description: 'The comment with the result.' })),
          commentErrorCode: Type.Optional(Type.String({ description: 'Why there will be no comment.' })),
          checkErrorCode: Type.Optional(Type.String({ description: 'Why there will be no check run.' })),
        },
        {
          description:
            'What GitHub has been told of the Turn: nothing yet, that it has begun, how it ended, or what became of its changes.',
          ...open,
        },
      ),
    ),
    createdAt: DateTime,
  },
  { title: 'TriggerDelivery', ...open },
)

export const TriggerDeliveryEnvelope = Type.Object({ delivery: TriggerDelivery }, open)
export const TriggerDeliveryList = Type.Object({ deliveries: Type.Array(TriggerDelivery) }, open)

/** What another system posts, as it is. */
export const HookBody = Type.Object({}, { title: 'HookBody', ...open })

/** Answer to what other systems post. */
export const HookAnswer = Type.Object(
  {
    delivery: Type.Optional(TriggerDelivery),
    ignored: Type.Optional(Type.String({ description: 'Why it makes nothing, for people.' })),
    challenge: Type.Optional(Type.String({ description: 'What Slack asks to be told.' })),
  },
  { title: 'HookAnswer', ...open },
)

export type HookAnswer = Static<typeof HookAnswer>
export type PutTrigger = Static<typeof PutTrigger>
export type PutTriggerDelivery = Static<typeof PutTriggerDelivery>
export type ReplaceTriggerSecret = Static<typeof ReplaceTriggerSecret>
export type Trigger = Static<typeof Trigger>
export type TriggerDeliver = Static<typeof TriggerDeliver>
export type TriggerHook = Static<typeof TriggerHook>
export type GitHubEventKind = (typeof githubEventKinds)[number]
export type TriggerDelivery = Static<typeof TriggerDelivery>
