import { Assertions } from '../accounts/apps/assertion.ts'
import { appHandlers } from '../accounts/apps/routes.ts'
import { tokenHandlers } from '../accounts/apps/token-routes.ts'
import { installationHandlers } from '../accounts/installations/routes.ts'
import { integrationHandlers } from '../accounts/integrations/routes.ts'
import { intentHandlers } from '../accounts/intents/routes.ts'
import { organizationHandlers } from '../accounts/organizations/routes.ts'
import { signInHandlers } from '../accounts/people/sign-in-routes.ts'
import { Mint } from '../accounts/signing/mint.ts'
import type { SigningKeys } from '../accounts/signing/signing-keys.ts'
import type { Context } from '../context.ts'
import type { AccountHandlers, AccountPersonHandlers } from '../http/routing/handler.ts'
import { issuerOf } from '../identity/tokens/token-types.ts'
import type { Settings } from '../settings/settings.ts'
import { webhookDeliveryHandlers } from '../webhooks/delivery-routes.ts'
import { type WebhookParts, webhookHandlers } from '../webhooks/routes.ts'

/** What the account service's operations for people work with. */
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
