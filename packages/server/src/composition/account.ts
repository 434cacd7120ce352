import { mountAccountPages } from '../accounts/account-page/mount-account.ts'
import { type Guards, mountInternal } from '../accounts/far/internal-routes.ts'
import { repairPositions } from '../accounts/far/standing-sql.ts'
import { InstallRoutes } from '../accounts/intents/page/install-routes.ts'
import { mountLinks } from '../accounts/links/link-routes.ts'
import { mountSignIn } from '../accounts/sign-in/sign-in.ts'
import { SigningKeys } from '../accounts/signing/signing-keys.ts'
import type { Context } from '../context.ts'
import type { AccountSurface } from '../http/app.ts'
import { AddressMeter } from '../identity/guard/address-meter.ts'
import type { Settings } from '../settings/settings.ts'
import type { WebhookParts } from '../webhooks/routes.ts'
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
