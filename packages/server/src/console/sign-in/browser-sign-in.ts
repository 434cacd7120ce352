import { randomBytes, randomUUID } from 'node:crypto'
import { endSignInOf } from '@berth/core/accounts/people/end-sign-in.ts'
import type { BrowserSession } from '@berth/core/identity/guard/browser-authority.ts'
import {
  type ConsoleCookie,
  consoleCookie,
  readCookie,
  setCookieOf,
} from '@berth/core/identity/guard/console-cookie.ts'
import { issuerOf } from '@berth/core/identity/tokens/token-types.ts'
import { moveTerminals } from '@berth/core/sessions/terminals/terminal-sql.ts'
import { credentialDigest, type MasterKey, UnsealError } from '@berth/platform/storage/master-key.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { deleteBrowserSession, insertBrowserSession } from './browser-session-sql.ts'
import type { Challenge, ConsoleClient, ConsoleClientContext, SignedIn } from './console-client.ts'
import { returnPath } from './return-path.ts'

/** How long a sign-in may take. */
const SIGN_IN_MS = 10 * 60_000

/** Dependencies of the sign-ins of browsers. */
export interface BrowserSignInContext extends Pick<ConsoleClientContext, 'clock' | 'authUrl' | 'consoleUrl'> {
  readonly db: Database
  readonly masterKey: MasterKey
  /** How long a session lives at most. */
  readonly sessionMs: number
}

/** A sign-in under way, as the browser keeps it, sealed. */
interface Pending extends Challenge {
  readonly returnTo: string
  /** The session that the new one takes the place of. */
  readonly replaces: Pick<BrowserSession, 'id' | 'personId'> | null
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Keeps a sign-in of an account service that has another database. */
export interface SignInKeeper {
  /**
   * Provides the rows that the session will name.
   * @returns a function that stores the session's tokens with it
   * @throws an error with a code of OAuth in `error` if the person may not act here
   */
  admit(signedIn: SignedIn, address: string): Promise<(tx: Queryable, sessionId: string) => Promise<void>>
  /** Returns a function that ends the sign-in of a session at the account service, once the session is deleted. */
  ending(sessionId: string): Promise<() => Promise<void>>
}

/** Where a request came from. */
export interface From {
  readonly address: string
  readonly agent: string | null
}

/** Where a browser goes next, with the cookie that it is given or that it is to forget. */
export interface Step {
  readonly url: string
  readonly cookie: string
}

/** The browser's answer belongs to no sign-in that it has begun here within ten minutes. */
export class NoSignInUnderWay extends Error {
  override readonly name = 'NoSignInUnderWay'
}

/** Signs browsers in and out. A browser gets a new cookie at each sign-in, and keeps no token. */
export class BrowserSignIn {
  readonly #context: BrowserSignInContext
  readonly #client: ConsoleClient
  readonly #keeper: SignInKeeper | undefined

  /** @param keeper absent if the account service has this database */
  constructor(context: BrowserSignInContext, client: ConsoleClient, keeper?: SignInKeeper) {
    this.#context = context
    this.#client = client
    this.#keeper = keeper
  }

  /** The cookie of a browser's session. */
  get sessionCookie(): ConsoleCookie {
    return this.#cookie('console')
  }

  /**
   * Begins a sign-in, or, with `again`, another proof of who is at the browser.
   * @throws if the account service does not answer
   */
  async begin(request: {
    readonly returnTo: string | null | undefined
    readonly organization?: string
    readonly again?: boolean
    readonly replaces: BrowserSession | null
  }): Promise<Step> {
    const { masterKey, clock } = this.#context
    const { replaces } = request
    const pending: Pending = {
      state: secret(),
      nonce: secret(),
      verifier: secret(),
      returnTo: returnPath(request.returnTo),
      replaces: replaces === null ? null : { id: replaces.id, personId: replaces.personId },
      until: clock.now().getTime() + SIGN_IN_MS,
    }
    const url = await this.#client.authorizationUrl(pending, request)
    const cookie = this.#cookie('sign_in')
    const sealed = masterKey.seal(JSON.stringify(pending), cookie.name).toString('base64url')
    return { url, cookie: setCookieOf(cookie, sealed, 'Lax', SIGN_IN_MS / 1000) }
  }

  /**
   * Finishes a sign-in with the answer of the account service: a new session, in place of the browser's old one.
   * @param cookies the request's header
   * @param query of the address that the browser came back to
   * @throws NoSignInUnderWay; any other error if the account service refused or does not answer
   */
  async finish(cookies: string | undefined, query: string, from: From): Promise<Step> {
    const { db, clock, sessionMs } = this.#context
    const pending = this.#open(readCookie(cookies, this.#cookie('sign_in').name))
    const signedIn = await this.#client.redeem(query, pending)
    const { personId, signInId, provenAt } = signedIn
    const { replaces } = pending
    const store = await this.#keeper?.admit(signedIn, from.address)
    const endThere = replaces === null ? undefined : await this.#keeper?.ending(replaces.id)
    const value = secret()
    const now = clock.now()
    const endsAt = new Date(now.getTime() + sessionMs)
    const hasReplaced = await db.transaction(async tx => {
      const wasReplaced = replaces !== null && (await this.#end(tx, replaces, from.address, signInId))
      const session = { id: randomUUID(), personId, signInId, endsAt, signedInAt: provenAt, ...from }
      const isMade = await insertBrowserSession(tx, { ...session, digest: credentialDigest(value) }, now)
      if (!isMade) throw new NoSignInUnderWay('the sign-in ended before its session was made')
      await store?.(tx, session.id)
      // Whoever proves again who they are goes on at their terminals.
      if (wasReplaced) await moveTerminals(tx, replaces.id, session)
      return wasReplaced
    })
    if (hasReplaced) await endThere?.()
    // Without an end of its own: it goes with the browser, and the row decides anyway.
    return { url: pending.returnTo, cookie: setCookieOf(this.sessionCookie, value, 'Strict', null) }
  }

  /**
   * Ends a session of a person with its sign-in.
   * @returns false if the person has no such session
   */
  async end(session: Pick<BrowserSession, 'id' | 'personId'>, address: string): Promise<boolean> {
    const endThere = await this.#keeper?.ending(session.id)
    const hasEnded = await this.#context.db.transaction(tx => this.#end(tx, session, address, null))
    if (hasEnded) await endThere?.()
    return hasEnded
  }

  /**
   * Returns where a browser goes that has signed out; the page that says so if the account service does not answer.
   */
  async signedOut(): Promise<Step> {
    const url = await this.#client
      .signOutUrl()
      .catch(() => `${this.#context.consoleUrl().replace(/\/$/, '')}/signed-out`)
    return { url, cookie: setCookieOf(this.sessionCookie, '', 'Strict', 0) }
  }

  /** @param kept the sign-in that is to go on; null: none */
  async #end(
    tx: Queryable,
    { id, personId }: Pick<BrowserSession, 'id' | 'personId'>,
    address: string,
    kept: string | null,
  ): Promise<boolean> {
    const signInId = await deleteBrowserSession(tx, personId, id)
    if (signInId === null) return false
    if (signInId !== kept) await endSignInOf(tx, { personId, signInId, address }, this.#context.clock.now())
    return true
  }

  #open(value: string | null): Pending {
    const { masterKey, clock } = this.#context
    if (value === null) throw new NoSignInUnderWay('the browser has begun no sign-in')
    try {
      const opened = masterKey.open(Buffer.from(value, 'base64url'), this.#cookie('sign_in').name)
      const pending: Pending = JSON.parse(opened.toString())
      if (pending.until > clock.now().getTime()) return pending
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error
    }
    throw new NoSignInUnderWay('the sign-in was begun too long ago')
  }

  #cookie(kind: 'console' | 'sign_in'): ConsoleCookie {
    const { consoleUrl, authUrl } = this.#context
    return consoleCookie(kind, consoleUrl(), issuerOf(authUrl()))
  }
}

const secret = (): string => randomBytes(32).toString('base64url')
