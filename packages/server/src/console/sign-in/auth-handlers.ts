import type { ConsoleFeatures } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import type { BrowserHandlers } from '@berth/core/http/routing/handler.ts'
import { type BrowserSession, RECENT_MS } from '@berth/core/identity/guard/browser-authority.ts'
import { grantedCapabilities } from '@berth/core/identity/guard/granted-capabilities.ts'
import { heldPermissions } from '@berth/core/identity/guard/held-permissions.ts'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { findSessionLocations } from '../sessions/session-state-sql.ts'
import { type BrowserIdentity, listBrowserSessions, readIdentity } from './browser-session-sql.ts'
import type { BrowserSignIn, Step } from './browser-sign-in.ts'

/** The operations by which the page knows who is signed in, and signs out. */
export function authHandlers(
  { db, clock, log }: Pick<Context, 'db' | 'clock' | 'log'>,
  signIn: BrowserSignIn,
  {
    idleMs,
    features,
    identityOf = browser => readIdentity(db, browser.id),
  }: {
    readonly idleMs: number
    readonly features: () => ConsoleFeatures
    /** Finds who is signed in; by default in the database. */
    readonly identityOf?: (browser: BrowserSession, clientAddress: string) => Promise<BrowserIdentity>
  },
): BrowserHandlers {
  return {
    getConsoleIdentity: async ({ browser, clientAddress }) => {
      const found = await identityOf(browser, clientAddress)
      const { signedInAt } = browser
      const session = {
        id: browser.id,
        createdAt: found.created_at.toISOString(),
        lastUsedAt: found.seen_at.toISOString(),
        endsAt: browser.endsAt.toISOString(),
        signedInAt: signedInAt.toISOString(),
        recentUntil: new Date(signedInAt.getTime() + RECENT_MS).toISOString(),
      }
      const memberships = found.memberships.map(
        ({ id, organization_id, organization, cloud_access, role, permissions }) => ({
          id,
          organization: { id: organization_id, name: organization },
          role,
          capabilities: [...grantedCapabilities(null, cloud_access), ...heldPermissions(role, permissions)],
        }),
      )
      return {
        status: 200,
        body: {
          session,
          user: { id: browser.personId, name: found.name, email: found.email },
          memberships,
          membershipId: memberships.find(({ id }) => id === found.membership_id)?.id ?? null,
          serverTime: clock.now().toISOString(),
          features: features(),
        },
      }
    },

    signOutOfConsole: async ({ browser, clientAddress }) => {
      await signIn.end(browser, clientAddress)
      return goTo(await signIn.signedOut())
    },

    stepUpInConsole: async ({ browser, body }) => {
      const begun = signIn.begin({ returnTo: body.returnTo, again: true, replaces: browser })
      return goTo(
        await begun.catch(cause => {
          log.warn({ err: cause }, 'the account service did not answer the console')
          throw new ApiError(503, 'identity_service_unavailable', { cause })
        }),
      )
    },

    locateSession: async ({ browser, params: { sessionId } }) => ({
      status: 200,
      body: { organizationIds: await findSessionLocations(db, browser.personId, sessionId) },
    }),

    listBrowserSessions: async ({ browser }) => {
      const now = clock.now()
      const idleSince = new Date(now.getTime() - idleMs)
      return {
        status: 200,
        body: { sessions: await listBrowserSessions(db, browser.personId, now, idleSince, browser.id) },
      }
    },

    endBrowserSession: async ({ browser, params: { browserSessionId }, clientAddress }) => {
      const ended = await signIn.end({ id: browserSessionId, personId: browser.personId }, clientAddress)
      if (!ended) throw refusal('sign_in_not_found')
      return { status: 204 }
    },
  }
}

const goTo = ({ url, cookie }: Step) => ({ status: 200, body: { url }, headers: { 'set-cookie': cookie } })
