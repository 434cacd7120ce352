import type { DecideInteraction, DecisionEnvelope, FenceEnvelope, WebhookDelivery } from './generated/types.ts'

/** How an approval is decided. */
export type DecisionChoice = DecideInteraction['choice']

/** How an approval was decided, by whomever. */
export type DecisionOutcome = DecisionEnvelope['outcome']

/** The worker that executes a Session's active Run. */
export type Fence = NonNullable<FenceEnvelope['fence']>

export type WebhookDeliveryStatus = WebhookDelivery['status']
