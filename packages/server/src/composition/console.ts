import { fileURLToPath } from 'node:url'
import { readBuiltPage } from '../console/page/built-page.ts'
import { registerPageRoutes } from '../console/page/page-routes.ts'
import { authHandlers } from '../console/sign-in/auth-handlers.ts'
import { BrowserSignIn } from '../console/sign-in/browser-sign-in.ts'
import { ConsoleClient } from '../console/sign-in/console-client.ts'
import { registerSignInRoutes } from '../console/sign-in/sign-in-routes.ts'
import type { Context } from '../context.ts'
import type { ConsoleSurface } from '../http/app.ts'
import { DatabaseBrowserAuthority } from '../identity/guard/browser-authority.ts'
import { IssuanceMeter } from '../identity/guard/issuance-meter.ts'
import type { Settings } from '../settings/settings.ts'
import type { WebhookParts } from '../webhooks/routes.ts'
import { personHandlers } from './account-handlers.ts'

/** Where the build puts the page. */
const builtAt = fileURLToPath(new URL('../../../console/dist', import.meta.url))

/** Opens the console: its page, and what the page calls with its cookie. */
export async function openConsole(
  context: Context,
  settings: Settings,
  {
    webhooks,
    authUrl,
    directory = builtAt,
  }: { readonly webhooks: WebhookParts; readonly authUrl: () => string; readonly directory: string | undefined },
): Promise<ConsoleSurface> {
  const { db, clock } = context
  const { limits, accounts, console } = settings
  const consoleUrl = () => context.consoleUrl
  const authority = new DatabaseBrowserAuthority(db, clock, { ...limits, idleMs: console.idleMs })
  const client = {
    db,
    clock,
    masterKey: webhooks.masterKey,
    authUrl,
    consoleUrl,
    timeoutMs: accounts.providerTimeoutMs,
  }
  const signIn = new BrowserSignIn({ ...client, sessionMs: console.sessionMs }, new ConsoleClient(client))
  const built = await readBuiltPage(directory)
  if (settings.production && new URL(consoleUrl()).origin === new URL(authUrl()).origin) {
    context.log.warn(
      `BERTH_CONSOLE_URL and BERTH_AUTH_URL share an origin: a fault in the console could consent in a person's name (docs/console.md)`,
    )
  }
  const meter = new IssuanceMeter(db, clock, limits.issuance)
  return {
    door: {
      authority,
      cookieName: () => signIn.sessionCookie.name,
      origin: () => new URL(consoleUrl()).origin,
    },
    handlers: authHandlers(context, signIn, { idleMs: console.idleMs, features: {} }),
    account: personHandlers(context, settings, { authUrl, webhooks }),
    mount: app => {
      registerSignInRoutes(app, { signIn, authority, meter })
      registerPageRoutes(app, built, () => consoleUrl().startsWith('https://'))
    },
  }
}
