import { mountAccountPages } from '@berth/core/accounts/account-page/mount-account.ts'
import { repairPositions } from '@berth/core/accounts/far/account-snapshot-sql.ts'
import { type Guards, mountInternal } from '@berth/core/accounts/far/internal-routes.ts'
import { InstallRoutes } from '@berth/core/accounts/intents/page/install-routes.ts'
import { mountLinks } from '@berth/core/accounts/links/link-routes.ts'
import { mountSignIn } from '@berth/core/accounts/sign-in/sign-in.ts'
import { SigningKeys } from '@berth/core/accounts/signing/signing-keys.ts'
import type { Context } from '@berth/core/context.ts'
import type { AccountSurface } from '@berth/core/http/app.ts'
import { AddressMeter } from '@berth/core/identity/guard/address-meter.ts'
import type { WebhookParts } from '@berth/core/webhooks/routes.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { accountHandlers } from './account-handlers.ts'

const DAY_MS = 86_400_000
/** The longest life of a token that a signing key signs. */
const TOKEN_MS = 3_600_000

/** Opens the account service and returns the surface that the listener serves. */
export async function openAccount(
  context: Context,
  settings: Settings,
  {
    webhooks,
    authUrl,
    guards,
  }: { readonly webhooks: WebhookParts; readonly authUrl: () => string; readonly guards: Guards },
  stack: AsyncDisposableStack,
): Promise<AccountSurface> {
  const { db, clock, log } = context
  const { masterKey } = webhooks
  const times = { signMs: 30 * DAY_MS, publishAheadMs: DAY_MS, tokenMs: TOKEN_MS }
  const keys = stack.use(new SigningKeys(db, clock, masterKey, times))
  await keys.start(error => log.error({ err: error }, 'the signing keys could not be read or renewed'))
  await repairPositions(db)
  const { secret } = settings.identity
  const meter = new AddressMeter(db, clock, settings.limits.issuance)
  return {
    handlers: accountHandlers(context, settings, { keys, authUrl, webhooks }),
    meter,
    mount: app => {
      mountLinks(app, { db, clock, masterKey, authUrl }, meter)
      const { firstPartyClients, identityProviders } = settings.config
      const consoleUrl = () => context.consoleUrl
      const own = { db, clock, masterKey, keys, authUrl, consoleUrl, firstPartyClients, identityProviders }
      const signInContext = { ...own, ...settings.accounts }
      const signIn = mountSignIn(app, signInContext, meter, log)
      new InstallRoutes(signInContext, signIn).register(app)
      mountAccountPages(app, signInContext, meter, signIn)
      if (secret !== undefined) mountInternal(app, db, guards, secret)
    },
  }
}
