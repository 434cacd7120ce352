import { type Static, Type } from 'typebox'
import { triggerLimits } from './limits.ts'
import { closed, DateTime, nullable, OpenObject, open, openString, someText, Uuid } from './scalar.ts'
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

const { title, model, runtime, source, environment } = CreateSession.properties

/** Settings of the Sessions that a trigger makes. */
const TriggerSession = Type.Object(
  { title, model, runtime, source, environment },
  { title: 'TriggerSession', ...closed },
)

/** Body of `putTrigger`. */
export const PutTrigger = Type.Object(
  {
    name: someText(triggerLimits.nameCharacters),
    message: someText(triggerLimits.messageCharacters, {
      description: 'The first message of each Session. `{{path.to.field}}` stands for a field of the payload.',
    }),
    session: Type.Optional(TriggerSession),
    schedule: Type.Optional(TriggerSchedule),
    enabled: Type.Optional(Type.Boolean({ description: '`true` if absent.' })),
  },
  { title: 'PutTrigger', ...closed },
)

/** A message and settings of Sessions, each of which is made by a delivery or by the schedule. */
export const Trigger = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    message: Type.String(),
    session: TriggerSession,
    schedule: Type.Optional(Type.Object({ cron: Type.String(), timeZone: Type.String() }, open)),
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

export const triggerDeliveryStatuses = ['waiting', 'admitted', 'refused'] as const

/** One firing of a trigger; it makes one Session, once. */
export const TriggerDelivery = Type.Object(
  {
    key: Type.String(),
    status: openString(triggerDeliveryStatuses),
    sessionId: Type.String({
      format: 'uuid',
      description: 'The Session that it makes; it exists once the delivery is admitted.',
    }),
    errorCode: Type.Optional(nullable(Type.String({ description: 'Why it was refused, or why it still waits.' }))),
    createdAt: DateTime,
  },
  { title: 'TriggerDelivery', ...open },
)

export const TriggerDeliveryEnvelope = Type.Object({ delivery: TriggerDelivery }, open)
export const TriggerDeliveryList = Type.Object({ deliveries: Type.Array(TriggerDelivery) }, open)

export type PutTrigger = Static<typeof PutTrigger>
export type PutTriggerDelivery = Static<typeof PutTriggerDelivery>
export type Trigger = Static<typeof Trigger>
export type TriggerDelivery = Static<typeof TriggerDelivery>
