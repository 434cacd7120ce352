import { Assertions } from '@berth/core/accounts/apps/assertion.ts'
import { appHandlers } from '@berth/core/accounts/apps/routes.ts'
import { tokenHandlers } from '@berth/core/accounts/apps/token-routes.ts'
import { installationHandlers } from '@berth/core/accounts/installations/routes.ts'
import { integrationHandlers } from '@berth/core/accounts/integrations/routes.ts'
import { intentHandlers } from '@berth/core/accounts/intents/routes.ts'
import { organizationHandlers } from '@berth/core/accounts/organizations/routes.ts'
import { signInHandlers } from '@berth/core/accounts/people/sign-in-routes.ts'
import { Mint } from '@berth/core/accounts/signing/mint.ts'
import type { SigningKeys } from '@berth/core/accounts/signing/signing-keys.ts'
import type { Context } from '@berth/core/context.ts'
import type { AccountHandlers, AccountPersonHandlers } from '@berth/core/http/routing/handler.ts'
import { issuerOf } from '@berth/core/identity/tokens/token-types.ts'
import { webhookDeliveryHandlers } from '@berth/core/webhooks/delivery-routes.ts'
import { type WebhookParts, webhookHandlers } from '@berth/core/webhooks/routes.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'

/** Dependencies of the account service's operations for people. */
interface PersonParts {
  readonly authUrl: () => string
  readonly webhooks: WebhookParts
}

/** Every operation of the account service for people; a domain that forgets one does not compile. */
export function personHandlers(
  context: Context,
  { listener, production }: Settings,
  { authUrl, webhooks }: PersonParts,
): AccountPersonHandlers {
  return {
    ...organizationHandlers(context, authUrl),
    ...signInHandlers(context),
    ...appHandlers(context, { development: listener.loopback && !production }),
    ...installationHandlers(context),
    ...integrationHandlers(context),
    ...webhookHandlers(context, webhooks),
    ...webhookDeliveryHandlers(context),
  }
}

/** Every operation of the account service; a domain that forgets one does not compile. */
export function accountHandlers(
  context: Context,
  settings: Settings,
  { keys, authUrl, webhooks }: PersonParts & { readonly keys: SigningKeys },
): AccountHandlers {
  const { db, clock } = context
  const issuer = () => issuerOf(authUrl())
  const assertions = new Assertions(db, clock, issuer)
  const mint = new Mint(keys, clock, issuer)
  return {
    ...personHandlers(context, settings, { authUrl, webhooks }),
    ...tokenHandlers(context, { assertions, mint }),
    ...intentHandlers(context, { assertions, authUrl }),
  }
}
