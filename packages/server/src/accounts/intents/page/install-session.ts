import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { UnsealError } from '../../../storage/master-key.ts'
import { issuerMark, type SignInContext } from '../../sign-in/configuration.ts'
import type { OpenIdProvider } from '../../sign-in/provider.ts'
import { readEnabledPerson } from '../../sign-in/sign-in-sql.ts'

/** How long a sign-in on the page itself holds, in seconds. */
const OWN_SECONDS = 15 * 60

/** The browser behind a request; `person` is null until somebody has signed in there. */
export interface InstallSession {
  /** Names the session and its person: forms are bound to it. */
  readonly key: string
  readonly person: { readonly id: string; readonly name: string; readonly email: string } | null
}

/** What the page's own cookie holds, sealed. */
interface Own {
  readonly id: string
  readonly personId: string | null
  readonly until: number
}

/**
 * Knows who is at the browser. The session of the OpenID provider counts; a browser without one gets a cookie that only
 * these pages see, and that lets its person decide for a quarter of an hour.
 */
export class InstallSessions {
  readonly #context: SignInContext
  readonly #provider: OpenIdProvider

  constructor(context: SignInContext, provider: OpenIdProvider) {
    this.#context = context
    this.#provider = provider
  }

  /** Returns the session of a request; null if the browser has none that holds. */
  async find(request: FastifyRequest, reply: FastifyReply): Promise<InstallSession | null> {
    const provider = await this.#provider.get()
    const { accountId, uid } = await provider.Session.get(provider.createContext(request.raw, reply.raw))
    const person = accountId === undefined ? null : await this.#person(accountId)
    if (person !== null) return { key: `provider/${uid}/${person.id}`, person }
    const own = this.#open(request.headers.cookie ?? '')
    return own === null ? null : this.#sessionOf(own)
  }

  /** Gives the browser a session of its own, always a new one. @param personId null before anybody has signed in */
  async begin(reply: FastifyReply, personId: string | null): Promise<InstallSession> {
    const { clock, masterKey } = this.#context
    const own: Own = { id: randomUUID(), personId, until: clock.now().getTime() + OWN_SECONDS * 1000 }
    const sealed = masterKey.seal(JSON.stringify(own), this.#cookie.name).toString('base64url')
    const { name, path, secure } = this.#cookie
    const attributes = `Path=${path}; Max-Age=${OWN_SECONDS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    reply.header('set-cookie', `${name}=${sealed}; ${attributes}`)
    return this.#sessionOf(own)
  }

  async #sessionOf({ id, personId }: Own): Promise<InstallSession> {
    const person = personId === null ? null : await this.#person(personId)
    return { key: `own/${id}/${person?.id ?? ''}`, person }
  }

  async #person(id: string): Promise<InstallSession['person']> {
    const found = await readEnabledPerson(this.#context.db, id)
    return found === null ? null : { id, ...found }
  }

  get #cookie(): { readonly name: string; readonly path: string; readonly secure: boolean } {
    const authUrl = this.#context.authUrl()
    const { protocol, pathname } = new URL(authUrl)
    const secure = protocol === 'https:'
    const name = `${secure ? '__Secure-' : ''}berth_install_${issuerMark(authUrl)}`
    return { name, path: `${pathname.replace(/\/$/, '')}/install`, secure }
  }

  #open(header: string): Own | null {
    const { clock, masterKey } = this.#context
    const { name } = this.#cookie
    const pair = header.split(/; */).find(each => each.startsWith(`${name}=`))
    if (pair === undefined) return null
    try {
      const opened = masterKey.open(Buffer.from(pair.slice(name.length + 1), 'base64url'), name)
      const own: Own = JSON.parse(opened.toString())
      return own.until > clock.now().getTime() ? own : null
    } catch (error) {
      if (error instanceof UnsealError) return null
      throw error
    }
  }
}
