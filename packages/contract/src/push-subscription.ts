import { type Static, Type } from 'typebox'
import { closed, DateTime, nullable, open, someText, Uuid } from './scalar.ts'

const wishes = {
  needsYou: Type.Boolean({ description: 'Whether a request of an agent is pushed.' }),
  runEnded: Type.Boolean({ description: 'Whether the end of a Run is pushed.' }),
}

/** A browser to which a membership's notifications are pushed. */
export const PushSubscription = Type.Object(
  {
    id: Uuid,
    agent: nullable(Type.String({ description: '`User-Agent` of the browser.' })),
    ...wishes,
    createdAt: DateTime,
    pushedAt: nullable(Type.String({ format: 'date-time', description: 'When the last push was accepted.' })),
    failing: Type.Boolean({ description: 'Whether the last push was not accepted.' }),
  },
  { title: 'PushSubscription', ...open },
)

export type PushSubscription = Static<typeof PushSubscription>

/** Response of `listPushSubscriptions`. */
export const PushSubscriptionList = Type.Object(
  {
    publicKey: Type.String({ description: "The service's public key (RFC 8292), which a browser subscribes with." }),
    subscriptions: Type.Array(PushSubscription, { description: "The membership's, the newest first." }),
  },
  { title: 'PushSubscriptionList', ...open },
)

export type PushSubscriptionList = Static<typeof PushSubscriptionList>

export const PutPushSubscription = Type.Object(
  {
    endpoint: someText(2048, { description: 'As the browser gives it.' }),
    p256dh: Type.String({ pattern: '^[A-Za-z0-9_-]{87}$', description: 'Public key of the browser.' }),
    auth: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$', description: 'Secret of the browser.' }),
    ...wishes,
  },
  { title: 'PutPushSubscription', ...closed },
)

export type PutPushSubscription = Static<typeof PutPushSubscription>

export const PushSubscriptionEnvelope = Type.Object(
  { subscription: PushSubscription },
  { title: 'PushSubscriptionEnvelope', ...open },
)

/** What a push says; the service worker of the page shows it. */
export interface PushMessage {
  readonly title: string
  readonly body: string
  /** Null for a test. */
  readonly sessionId: string | null
  /** Whose message it is: tabs of the membership that are in sight show it by themselves. */
  readonly membershipId: string
}
