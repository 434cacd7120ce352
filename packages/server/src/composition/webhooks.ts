import { type Network, openNetwork } from '../network/dial.ts'
import { inRanges } from '../network/public-address.ts'
import type { Settings } from '../settings/settings.ts'
import type { MasterKey } from '../storage/master-key.ts'
import type { WebhookParts } from '../webhooks/routes.ts'
import { webhookRules } from '../webhooks/webhook-url.ts'

/** Returns the parts of webhooks that their operations and their sender share. */
export function webhookParts(
  { webhooks }: Settings,
  masterKey: MasterKey,
  network: Network = openNetwork(),
): WebhookParts {
  return { masterKey, network, rules: webhookRules(webhooks, inRanges(webhooks.refused)) }
}
