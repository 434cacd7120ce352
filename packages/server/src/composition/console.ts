import { join } from 'node:path'
import type { ConsoleFeatures } from '@berth/contract'
import type { AccountClient } from '@berth/core/accounts/far/account-client.ts'
import type { Context } from '@berth/core/context.ts'
import type { ConsoleSurface } from '@berth/core/http/app.ts'
import { AddressMeter } from '@berth/core/identity/guard/address-meter.ts'
import { DatabaseBrowserAuthority } from '@berth/core/identity/guard/browser-authority.ts'
import type { Authority } from '@berth/core/identity/guard/principal.ts'
import type { WebhookParts } from '@berth/core/webhooks/routes.ts'
import { canTranscribe } from '@berth/gateway/transcription/routes.ts'
import { packagesDirectory } from '@berth/platform/kit/package-files.ts'
import type { Config } from '@berth/platform/settings/config-file.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { registerDocsRoutes } from '../console/docs/docs-routes.ts'
import { BrowserTokens } from '../console/far/browser-tokens.ts'
import { FarBrowserAuthority } from '../console/far/far-browser-authority.ts'
import { forwardedHandlers } from '../console/far/forward.ts'
import { registerGitCallback } from '../console/git-connections/callback-route.ts'
import { readBuiltPage } from '../console/page/built-page.ts'
import { registerPageRoutes } from '../console/page/page-routes.ts'
import { authHandlers } from '../console/sign-in/auth-handlers.ts'
import { BrowserSignIn } from '../console/sign-in/browser-sign-in.ts'
import { proofByKey, proofBySecret } from '../console/sign-in/client-proof.ts'
import { ConsoleClient } from '../console/sign-in/console-client.ts'
import { registerSignInRoutes } from '../console/sign-in/sign-in-routes.ts'
import { registerTerminalDoor } from '../console/terminals/terminal-door.ts'
import type { TerminalPlace } from '../console/terminals/terminal-place.ts'
import { personHandlers } from './account-handlers.ts'

/** Where the build puts the page. */
const builtAt = join(packagesDirectory, 'console/dist')

const docsBuiltAt = join(packagesDirectory, 'site/dist')

/** Opens the console: its page, and the operations that the page calls with its cookie. */
export async function openConsole(
  context: Context,
  settings: Settings,
  {
    webhooks,
    authUrl,
    far,
    terminals,
    triggers,
    directory = builtAt,
  }: {
    readonly webhooks: WebhookParts
    readonly authUrl: () => string
    /** The place of people's accounts, if it is another database, and the authority that judges them there. */
    readonly far: { readonly account: AccountClient; readonly authority: Authority } | null
    readonly terminals: TerminalPlace
    /** Whether this build has triggers. */
    readonly triggers: boolean
    readonly directory: string | undefined
  },
): Promise<ConsoleSurface> {
  const { db, clock } = context
  const { limits, accounts, console } = settings
  const consoleUrl = () => context.consoleUrl
  const local = new DatabaseBrowserAuthority(db, clock, { ...limits, idleMs: console.idleMs })
  const { masterKey } = webhooks
  const named = settings.identity.far?.console
  const client = new ConsoleClient({
    clock,
    authUrl,
    consoleUrl,
    timeoutMs: accounts.providerTimeoutMs,
    proof: named === undefined ? proofByKey({ db, clock, masterKey }) : proofBySecret(named),
  })
  const tokens = new BrowserTokens({ db, clock, masterKey, client })
  const warn = (err: unknown, message: string) => context.log.warn({ err }, message)
  const there =
    far === null ? null : new FarBrowserAuthority({ db, clock, local, there: far.authority, tokens, client, warn })
  const authority = there ?? local
  const signInContext = { db, clock, masterKey, authUrl, consoleUrl, sessionMs: console.sessionMs }
  const signIn = new BrowserSignIn(signInContext, client, there ?? undefined)
  const built = await readBuiltPage(directory)
  if (settings.production && new URL(consoleUrl()).origin === new URL(authUrl()).origin) {
    context.log.warn(
      `BERTH_CONSOLE_URL and BERTH_AUTH_URL share an origin: a fault in the console could consent in a person's name (docs/console.md)`,
    )
  }
  const meter = new AddressMeter(db, clock, limits.issuance)
  return {
    door: {
      authority,
      cookieName: () => signIn.sessionCookie.name,
      origin: () => new URL(consoleUrl()).origin,
    },
    handlers: authHandlers(context, signIn, {
      idleMs: console.idleMs,
      features: () => ({
        ...featuresOf(context, settings.config),
        triggers,
        ...(there !== null && { accountsAt: authUrl() }),
      }),
      ...(there !== null && { identityOf: (browser, address) => there.identityOf(browser, address) }),
    }),
    account:
      far === null
        ? personHandlers(context, settings, { authUrl, webhooks })
        : forwardedHandlers({ account: far.account, tokens }),
    mount: app => {
      registerSignInRoutes(app, { signIn, authority, meter })
      registerGitCallback(app)
      registerTerminalDoor(app, terminals, { origin: () => new URL(consoleUrl()).origin, meter })
      const secure = () => consoleUrl().startsWith('https://')
      registerDocsRoutes(app, docsBuiltAt, secure)
      registerPageRoutes(app, built, secure)
    },
  }
}

/** Returns the features of this deployment: the page says why the others are missing. */
function featuresOf(
  { gitHosts }: Pick<Context, 'gitHosts'>,
  { transcription }: Pick<Config, 'transcription'>,
): Omit<ConsoleFeatures, 'triggers'> {
  return {
    transcription: canTranscribe(transcription),
    github: gitHosts.hasKind('github'),
    billing: false,
  }
}
