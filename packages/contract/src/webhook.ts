import { type Static, Type } from 'typebox'
import type { EventFamily } from './event.ts'
import { closed, DateTime, nullable, open, openString, Uuid } from './scalar.ts'

/** The families that an endpoint can subscribe to. */
export const eventFamilies = [
  'run',
  'interaction',
  'artifact',
  'publication',
  'revision',
] as const satisfies readonly EventFamily[]

/** Limits of webhooks. */
export const webhookLimits = {
  endpointsPerInstallation: 5,
  /** Attempts at a delivery before it has failed. */
  attempts: 6,
  /** Deliveries that one replay queues. */
  replayed: 1_000,
} as const

/** States of a delivery. */
export const webhookDeliveryStatuses = ['pending', 'succeeded', 'failed'] as const

export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number]

/** Reasons for which an attempt got no response. */
export const webhookErrors = [
  'authority',
  'url_refused',
  'dns_failed',
  'address_refused',
  'connection_failed',
  'tls_failed',
  'connection_lost',
  'invalid_response',
  'timed_out',
  'interrupted',
  'internal_error',
] as const

export type WebhookError = (typeof webhookErrors)[number]

const Status = Type.Integer({ description: "Status of the receiver's response. Absent without a response." })
const Failure = openString([...webhookErrors], 'Why there was no response. Absent with one.')

export const WebhookEndpoint = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    families: Type.Array(openString([...eventFamilies])),
    createdAt: DateTime,
    lastSuccessAt: Type.Optional(DateTime),
    lastFailure: Type.Optional(
      Type.Object({ at: DateTime, status: Type.Optional(Status), error: Type.Optional(Failure) }, open),
    ),
  },
  { title: 'WebhookEndpoint', ...open },
)

// The rules of both members are those of `invalid_url` and `invalid_event_families`, so the schema leaves them open.
export const RegisterWebhook = Type.Object(
  {
    url: Type.String({
      description:
        'An HTTPS URL of a public host, at most 2048 characters, without user information and fragment. Its port is 443 or one that the operator allows.',
      examples: ['https://hooks.example.com/berth'],
    }),
    families: Type.Array(Type.String(), {
      description: 'One to five of `run`, `interaction`, `artifact`, `publication` and `revision`, each once.',
      examples: [['run', 'interaction']],
    }),
  },
  { title: 'RegisterWebhook', ...closed },
)

export const RegisteredWebhook = Type.Object(
  {
    success: Type.Literal(true),
    endpoint: WebhookEndpoint,
    secret: Type.String({ description: 'Signs the deliveries. Shown this once.' }),
  },
  { title: 'RegisteredWebhook', ...open },
)

export const WebhookEndpointList = Type.Object(
  { success: Type.Literal(true), endpoints: Type.Array(WebhookEndpoint) },
  { title: 'WebhookEndpointList', ...open },
)

export const WebhookDelivery = Type.Object(
  {
    id: Uuid,
    eventId: Uuid,
    type: openString(['svc.run.completed', 'svc.webhook.ping'], 'Type of the Event.'),
    sessionId: Type.Optional(Uuid),
    sequence: Type.Optional(Type.Integer({ minimum: 1 })),
    status: openString([...webhookDeliveryStatuses]),
    attempts: Type.Array(
      Type.Object(
        { at: DateTime, durationMs: Type.Integer(), status: Type.Optional(Status), error: Type.Optional(Failure) },
        open,
      ),
      { description: 'The latest attempts, the oldest first.' },
    ),
    nextAttemptAt: Type.Optional(DateTime),
  },
  { title: 'WebhookDelivery', ...open },
)

export const WebhookDeliveryPage = Type.Object(
  {
    success: Type.Literal(true),
    deliveries: Type.Array(WebhookDelivery),
    nextCursor: nullable(Type.String()),
    hasMore: Type.Boolean(),
  },
  { title: 'WebhookDeliveryPage', ...open },
)

export const WebhookDeliveryEnvelope = Type.Object(
  { success: Type.Literal(true), delivery: WebhookDelivery },
  { title: 'WebhookDeliveryEnvelope', ...open },
)

export const ReplayWebhook = Type.Object(
  {
    sessionId: Uuid,
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Replays Events with a greater sequence; absent: from the first.',
      }),
    ),
  },
  { title: 'ReplayWebhook', ...closed },
)

export const ReplayedWebhook = Type.Object(
  {
    success: Type.Literal(true),
    queued: Type.Integer({ minimum: 0 }),
    lastSequence: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Of the last Event that was queued. Pass it as `after` to go on.' }),
    ),
  },
  { title: 'ReplayedWebhook', ...open },
)

export type WebhookEndpoint = Static<typeof WebhookEndpoint>
export type WebhookDelivery = Static<typeof WebhookDelivery>
