import type { Context } from '@berth/core/context.ts'
import { Poster } from '@berth/core/webhooks/poster.ts'
import type { WebhookParts } from '@berth/core/webhooks/routes.ts'
import { ATTEMPT_MS, Sender, senderLimits } from '@berth/core/webhooks/sender.ts'
import { webhookMetrics } from '@berth/core/webhooks/webhook-metrics.ts'
import { webhookRules } from '@berth/core/webhooks/webhook-url.ts'
import { type Network, openNetwork } from '@berth/platform/network/dial.ts'
import { inRanges } from '@berth/platform/network/public-address.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Registry } from 'prom-client'
import { PushSender, pushLimits } from '../console/push/push-sender.ts'

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
