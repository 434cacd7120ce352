import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { issuerMark, type SignInContext, sessionCookie } from './configuration.ts'
import type { Proven } from './password-step.ts'
import type { OpenIdProvider } from './provider.ts'
import { openCookie } from './sealed-cookie.ts'
import { readEnabledPerson } from './sign-in-sql.ts'

/** How long a sign-in on a page itself holds, in seconds. */
const OWN_SECONDS = 15 * 60

/** The browser behind a request; `person` is null until somebody has signed in there. */
export interface PageSession {
  /** Names the session and its person: forms are bound to it. */
  readonly key: string
  readonly person: {
    readonly id: string
    readonly name: string
    readonly email: string
    /** When the session began, in seconds of the epoch. */
    readonly began: number
  } | null
}

/** What the cookie of these pages holds, sealed. */
interface Own {
  readonly id: string
  readonly proven: Pick<Proven, 'personId' | 'began'> | null
  readonly until: number
}

/**
 * Knows who is at the browser, for pages that belong to no client. The session of the OpenID provider counts; a browser
 * without one gets a cookie that only these pages see, and that lets its person act there for a quarter of an hour.
 */
export class PageSessions {
  readonly #context: SignInContext
  readonly #provider: OpenIdProvider
  readonly #room: 'install' | 'account'

  /** @param room the first part of the pages' paths */
  constructor(context: SignInContext, provider: OpenIdProvider, room: 'install' | 'account') {
    this.#room = room
    this.#context = context
    this.#provider = provider
  }

  /** Returns the session of a request; null if the browser has none that holds. */
  async find(request: FastifyRequest, reply: FastifyReply): Promise<PageSession | null> {
    const provider = await this.#provider.get()
    const { accountId, uid, loginTs = 0 } = await provider.Session.get(provider.createContext(request.raw, reply.raw))
    const person = accountId === undefined ? null : await this.#person({ personId: accountId, began: loginTs })
    if (person !== null) return { key: `provider/${uid}/${person.id}`, person }
    const own = this.#open(request.headers.cookie)
    return own === null ? null : this.#sessionOf(own)
  }

  /** Gives the browser a session of its own, always a new one. @param proven null before anybody has signed in */
  async begin(reply: FastifyReply, proven: Own['proven']): Promise<PageSession> {
    const { clock, masterKey } = this.#context
    const own: Own = { id: randomUUID(), proven, until: clock.now().getTime() + OWN_SECONDS * 1000 }
    this.#setCookie(reply, masterKey.seal(JSON.stringify(own), this.#cookie.name).toString('base64url'), OWN_SECONDS)
    return this.#sessionOf(own)
  }

  /**
   * Gives the browser's session another id; whoever knew the old one has lost it.
   * @param began from when the session counts, if every session of the person has just ended; otherwise it stays
   */
  async renew(request: FastifyRequest, reply: FastifyReply, personId: string, began?: number): Promise<void> {
    const provider = await this.#provider.get()
    const ctx = provider.createContext(request.raw, reply.raw)
    const session = await provider.Session.get(ctx)
    if (session.accountId !== personId) {
      const own = this.#open(request.headers.cookie)
      await this.begin(reply, { personId, began: began ?? own?.proven?.began ?? 0 })
      return
    }
    const { loginTs = 0, acr, amr } = session
    session.loginAccount({ accountId: personId, loginTs: began ?? loginTs, acr, amr })
    session.resetIdentifier()
    await session.persist()
    const { name, options } = sessionCookie(this.#context)
    // The proxy speaks TLS, this process does not.
    ctx.cookies.secure = options.secure
    ctx.cookies.set(name, session.jti, { ...options, expires: new Date(session.exp * 1000) })
    const lines = reply.raw.getHeader('set-cookie')
    reply.raw.removeHeader('set-cookie')
    for (const line of Array.isArray(lines) ? lines : []) reply.header('set-cookie', line)
  }

  /** Forgets the pages' own session of a browser. */
  forget(reply: FastifyReply): void {
    this.#setCookie(reply, '', 0)
  }

  async #sessionOf({ id, proven }: Own): Promise<PageSession> {
    const person = proven === null ? null : await this.#person(proven)
    return { key: `own/${id}/${person?.id ?? ''}`, person }
  }

  async #person({ personId, began }: NonNullable<Own['proven']>): Promise<PageSession['person']> {
    const found = await readEnabledPerson(this.#context.db, personId, began)
    return found === null ? null : { id: personId, began, ...found }
  }

  get #cookie(): { readonly name: string; readonly path: string; readonly secure: boolean } {
    const authUrl = this.#context.authUrl()
    const { protocol, pathname } = new URL(authUrl)
    const secure = protocol === 'https:'
    const name = `${secure ? '__Secure-' : ''}berth_${this.#room}_${issuerMark(authUrl)}`
    return { name, path: `${pathname.replace(/\/$/, '')}/${this.#room}`, secure }
  }

  #setCookie(reply: FastifyReply, value: string, seconds: number): void {
    const { name, path, secure } = this.#cookie
    const attributes = `Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    reply.header('set-cookie', `${name}=${value}; ${attributes}`)
  }

  #open(header: string | undefined): Own | null {
    return openCookie(this.#context, this.#cookie.name, header)
  }
}
