import { endOwnSignIn } from '@berth/core/accounts/people/sign-ins.ts'
import type { BrowserAuthority, BrowserSession, BrowserVerdict } from '@berth/core/identity/guard/browser-authority.ts'
import type { Authority, PersonPrincipal, Verdict } from '@berth/core/identity/guard/principal.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import { type BrowserIdentity, deleteBrowserSession, readBrowserTimes } from '../sign-in/browser-session-sql.ts'
import type { SignInKeeper } from '../sign-in/browser-sign-in.ts'
import type { ConsoleClient } from '../sign-in/console-client.ts'
import type { BrowserTokens } from './browser-tokens.ts'

/** Dependencies of a judge of browsers at an account service with another database. */
export interface FarBrowserContext {
  readonly db: Database
  readonly clock: Clock
  /** Judges the browser's session, and meters addresses, in this database. */
  readonly local: BrowserAuthority
  /** Judges the person over there. */
  readonly there: Authority
  readonly tokens: BrowserTokens
  readonly client: Pick<ConsoleClient, 'delegate' | 'revoke'>
  readonly warn: (error: unknown, message: string) => void
}

/**
 * Judges browsers whose people have their accounts at an account service with another database. The session's row is of
 * this database; the person, the membership and its bucket are judged over there at each request that names an
 * organization, with the session's token. A sign-in is for one organization, so any other is a stranger's.
 */
export class FarBrowserAuthority implements BrowserAuthority, SignInKeeper {
  readonly #context: FarBrowserContext

  constructor(context: FarBrowserContext) {
    this.#context = context
  }

  /** @throws ApiError 503 `identity_service_unavailable`, besides those of the interface */
  async judge(request: Parameters<BrowserAuthority['judge']>[0]): Promise<BrowserVerdict> {
    const { organizationId, clientAddress, metered } = request
    const verdict = await this.#context.local.judge({ ...request, organizationId: null })
    if (verdict.kind !== 'granted' || organizationId === null) return verdict
    const { session } = verdict
    const answer = await this.#ask(session, clientAddress, metered ?? true)
    if (answer.kind !== 'granted') return answer
    const { principal, metering } = answer
    if (principal.organizationId !== organizationId) return { kind: 'stranger', metering: verdict.metering }
    return { kind: 'granted', session, principal: { ...principal, expiresAt: session.endsAt }, metering }
  }

  /**
   * Returns who is signed in by a session, judged now.
   * @throws ApiError 401 `sign_in_required` or 503 `identity_service_unavailable`
   */
  async identityOf(session: BrowserSession, clientAddress: string): Promise<BrowserIdentity> {
    const answer = await this.#ask(session, clientAddress, false)
    const times = await readBrowserTimes(this.#context.db, session.id)
    if (answer.kind !== 'granted' || times === null) throw refusal('sign_in_required')
    const { principal } = answer
    const { membershipId, organizationId, role, permissions, capabilities, profile } = principal
    return {
      ...times,
      name: profile?.name ?? '',
      email: profile?.email ?? '',
      membership_id: membershipId,
      memberships: [
        {
          id: membershipId,
          organization_id: organizationId,
          organization: profile?.organization ?? '',
          cloud_access: capabilities.size > 0,
          role,
          permissions: [...permissions],
        },
      ],
    }
  }

  async admit({ personId, tokens }: Parameters<SignInKeeper['admit']>[0], address: string) {
    const { client, there, tokens: kept } = this.#context
    const delegation = await client.delegate(tokens.accessToken)
    // This also copies the rows that those of the session name.
    const verdict = await there.judge({ bearer: delegation.token, clientAddress: address, metered: false })
    if (verdict.kind !== 'granted' || verdict.principal.id !== personId) throw new SignInRefused()
    return (tx: Parameters<BrowserTokens['store']>[0], sessionId: string) =>
      kept.store(tx, sessionId, tokens.refreshToken, delegation)
  }

  async ending(sessionId: string) {
    const { tokens, client, warn } = this.#context
    const refreshToken = await tokens.refreshTokenOf(sessionId)
    return async () => {
      if (refreshToken === null) return
      // Nobody has the token any more, so a sign-in that cannot be ended now is of use to nobody.
      await client.revoke(refreshToken).catch(error => warn(error, 'a sign-in could not be ended over there'))
    }
  }

  async #ask(
    session: BrowserSession,
    clientAddress: string,
    metered: boolean,
  ): Promise<Granted | Exclude<Verdict, { kind: 'granted' }>> {
    const { tokens, there } = this.#context
    const bearer = await tokens.of(session.id)
    const verdict: Verdict =
      bearer === null ? { kind: 'invalid' } : await there.judge({ bearer, clientAddress, metered })
    if (verdict.kind === 'limited') return verdict
    const { personId } = session
    if (verdict.kind === 'granted' && verdict.principal.kind === 'person' && verdict.principal.id === personId) {
      return { ...verdict, principal: verdict.principal }
    }
    await this.#end(session)
    return { kind: 'invalid' }
  }

  /** Ends sessions that the account service has ended: other rows rest on the session and on the copy of its sign-in. */
  async #end({ id, personId, signInId }: BrowserSession): Promise<void> {
    const { db, clock } = this.#context
    await db.transaction(async tx => {
      await deleteBrowserSession(tx, personId, id)
      await endOwnSignIn(tx, personId, signInId, clock.now())
    })
  }
}

type Granted = Extract<Verdict, { kind: 'granted' }> & { readonly principal: PersonPrincipal }

/** The account service lets the person sign in, and not act here. */
class SignInRefused extends Error {
  override readonly name = 'SignInRefused'
  readonly error = 'access_denied'
}
