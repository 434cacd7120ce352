import { setTimeout as delay } from 'node:timers/promises'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { ClientTokens, ConsoleClient, Delegation } from '../sign-in/console-client.ts'
import { claimedRenewals, readTokens, type TokenColumns, writeTokens } from './token-sql.ts'

/** Tokens are renewed this long before they end: requests that begin now still reach the account service in time. */
const MARGIN_MS = 60_000
/** Longer than two requests to the account service take; then another process may renew. */
const CLAIM_MS = 30_000
const POLL_MS = 100
const WAIT_MS = 10_000

/** The sealed tokens. A refresh token counts once, so it is stored before its access token is exchanged. */
interface Sealed {
  readonly refreshToken: string
  /** Null until the exchange has succeeded. */
  readonly delegation: string | null
}

/** The dependencies of the tokens of browsers. */
export interface TokenContext {
  readonly db: Database
  readonly clock: Clock
  readonly masterKey: MasterKey
  readonly client: Pick<ConsoleClient, 'renew' | 'delegate'>
}

/**
 * Keeps the tokens with which the console acts for browsers at an account service that has another database. They are
 * sealed in the row of their session, and no browser sees them. Of all processes one renews those of a session, since a
 * refresh token that is presented twice ends the sign-in.
 */
export class BrowserTokens {
  readonly #context: TokenContext
  readonly #renewing = new Map<string, Promise<string | null>>()

  constructor(context: TokenContext) {
    this.#context = context
  }

  /**
   * Returns a token with which to act for the person of a session.
   * @returns null if the account service has ended the sign-in
   * @throws ApiError 503 `identity_service_unavailable` if a token has to be renewed and nobody answers
   */
  async of(sessionId: string): Promise<string | null> {
    const { db, clock } = this.#context
    const row = await readTokens(db, sessionId)
    if (row === null) return null
    if (row.tokens_expire_at.getTime() - MARGIN_MS > clock.now().getTime()) {
      const { delegation } = this.#open(sessionId, row)
      if (delegation !== null) return delegation
    }
    const under = this.#renewing.get(sessionId) ?? this.#renew(sessionId)
    this.#renewing.set(sessionId, under)
    return under.finally(() => this.#renewing.delete(sessionId))
  }

  /** Returns the refresh token of a session, by which its sign-in is ended; null without one. */
  async refreshTokenOf(sessionId: string): Promise<string | null> {
    const row = await readTokens(this.#context.db, sessionId)
    return row === null ? null : this.#open(sessionId, row).refreshToken
  }

  /** Stores the tokens of a session. */
  store(db: Queryable, sessionId: string, refreshToken: string, delegation: Delegation | null): Promise<void> {
    return writeTokens(db, sessionId, this.#seal(sessionId, refreshToken, delegation))
  }

  async #renew(sessionId: string): Promise<string | null> {
    const { db, clock } = this.#context
    const patience = clock.now().getTime() + WAIT_MS
    for (;;) {
      const now = clock.now()
      const until = new Date(now.getTime() + CLAIM_MS)
      const staleAt = new Date(now.getTime() + MARGIN_MS)
      const [row] = await claimedRenewals.claim(db, { now, until }, 1, [sessionId, staleAt])
      if (row !== undefined) return await this.#renewClaimed(sessionId, this.#open(sessionId, row), row.claim)
      // Another process renews: its token comes, or the session ends.
      const kept = await readTokens(db, sessionId)
      if (kept === null) return null
      const { delegation } = this.#open(sessionId, kept)
      if (delegation !== null && kept.tokens_expire_at > now) return delegation
      if (now.getTime() > patience) throw refusal('identity_service_unavailable')
      await delay(POLL_MS)
    }
  }

  async #renewClaimed(sessionId: string, { refreshToken }: Sealed, claim: string): Promise<string | null> {
    const { db, client } = this.#context
    try {
      const renewed: ClientTokens = await client.renew(refreshToken)
      await this.store(db, sessionId, renewed.refreshToken, null)
      const delegation = await client.delegate(renewed.accessToken)
      await claimedRenewals.release(db, claim, this.#seal(sessionId, renewed.refreshToken, delegation))
      return delegation.token
    } catch (cause) {
      if (isRefusedByOAuth(cause)) return null
      await claimedRenewals.release(db, claim, {})
      const { status, code, headers } = refusal('identity_service_unavailable')
      throw new ApiError(status, code, { headers, cause })
    }
  }

  #seal(sessionId: string, refreshToken: string, delegation: Delegation | null): TokenColumns {
    const { clock, masterKey } = this.#context
    const held: Sealed = { refreshToken, delegation: delegation?.token ?? null }
    return {
      sealed_tokens: masterKey.seal(JSON.stringify(held), contextOf(sessionId)),
      tokens_expire_at: new Date(clock.now().getTime() + (delegation?.seconds ?? 0) * 1000),
    }
  }

  #open(sessionId: string, { sealed_tokens: sealed }: TokenColumns): Sealed {
    return JSON.parse(this.#context.masterKey.open(sealed, contextOf(sessionId)).toString())
  }
}

const contextOf = (sessionId: string): string => `console-session/${sessionId}`

/** Returns whether the account service has answered that a token counts no more. */
function isRefusedByOAuth(error: unknown): boolean {
  const { error: refused } = Object(error)
  return refused === 'invalid_grant' || refused === 'invalid_request' || refused === 'invalid_scope'
}
