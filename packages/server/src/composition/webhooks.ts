import type { Registry } from 'prom-client'
import { PushSender, pushLimits } from '../console/push/push-sender.ts'
import type { Context } from '../context.ts'
import { type Network, openNetwork } from '../network/dial.ts'
import { inRanges } from '../network/public-address.ts'
import type { Settings } from '../settings/settings.ts'
import type { MasterKey } from '../storage/master-key.ts'
import { Poster } from '../webhooks/poster.ts'
import type { WebhookParts } from '../webhooks/routes.ts'
import { ATTEMPT_MS, Sender, senderLimits } from '../webhooks/sender.ts'
import { webhookMetrics } from '../webhooks/webhook-metrics.ts'
import { webhookRules } from '../webhooks/webhook-url.ts'

/** Returns the parts of webhooks that their operations and their sender share. */
export function webhookParts(
  { webhooks }: Settings,
  masterKey: MasterKey,
  network: Network = openNetwork(),
): WebhookParts {
  return { masterKey, network, rules: webhookRules(webhooks, inRanges(webhooks.refused)) }
}

/** Makes the sender of webhooks, and adds its figures to the registry. */
export function makeSender(context: Context, { worker }: Settings, parts: WebhookParts, registry: Registry): Sender {
  const { attempted } = webhookMetrics(registry, context)
  const sending = { ...context, ...parts, poster: new Poster(parts.network), timeoutMs: ATTEMPT_MS }
  return new Sender(sending, { ...senderLimits, claimMs: worker.limits.fenceMs }, attempted)
}

/** Makes the sender of notifications to browsers. It dials as webhooks do: no private address, no redirect. */
export function makePushSender(context: Context, { worker }: Settings, parts: WebhookParts): PushSender {
  const sending = { ...parts, poster: new Poster(parts.network), timeoutMs: ATTEMPT_MS }
  return new PushSender(context, sending, { ...pushLimits, claimMs: worker.limits.fenceMs + ATTEMPT_MS })
}
