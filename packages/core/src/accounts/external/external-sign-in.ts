import { randomBytes } from 'node:crypto'
import type { Log } from '@berth/platform/kit/log.ts'
import { UnsealError } from '@berth/platform/storage/master-key.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { pathOf } from '../../http/request/request-path.ts'
import type { AddressMeter } from '../../identity/guard/address-meter.ts'
import { appendAudit } from '../audit/append.ts'
import { sendFailure } from '../pages/failure.ts'
import { pageHeaders, sendPage } from '../pages/layout.ts'
import { meterPage } from '../pages/meter-page.ts'
import { commonCookie, type SignInContext } from '../sign-in/configuration.ts'
import { openCookie } from '../sign-in/sealed-cookie.ts'
import { awayPage, overPage, refusedPage } from './external-pages.ts'
import { type ExternalChallenge, type ExternalIdentity, ExternalProvider } from './external-provider.ts'

/** Time to sign in at a provider. */
const PENDING_MS = 10 * 60_000
/** Time from the provider's answer to the page that asked. */
const ANSWERED_MS = 60_000
/** Time to read what taking an account over ends. */
const CLAIM_MS = 5 * 60_000

/** What the cookie holds, sealed, while a browser is away at a provider. */
interface PendingChallenge extends ExternalChallenge {
  readonly kind: 'asked'
  readonly provider: string
  /** Names the form that asked: the answer counts there alone. */
  readonly bound: string
  readonly returnTo: string
  readonly until: number
}

/** What it holds between the provider's answer and the page that asked. */
interface Answered {
  readonly kind: 'answered'
  readonly provider: string
  readonly identity: ExternalIdentity
  readonly bound: string
  readonly until: number
}

/** An identity that a browser has just proved. */
export interface Proved {
  readonly provider: ExternalProvider
  readonly identity: ExternalIdentity
}

/**
 * Sends browsers to OpenID providers and takes their answers. Each provider has a redirect URI of its own, so that the
 * answer of one cannot be passed off as another's. The browser carries the state of its sign-in, sealed.
 */
export class ExternalSignIn {
  readonly #context: SignInContext
  readonly #meter: Pick<AddressMeter, 'take'>
  readonly #log: Log
  readonly #providers: ReadonlyMap<string, ExternalProvider>

  constructor(context: SignInContext, meter: Pick<AddressMeter, 'take'>, log: Log) {
    const { clock, identityProviders, providerTimeoutMs } = context
    this.#context = context
    this.#meter = meter
    this.#log = log
    this.#providers = new Map(
      identityProviders.map(config => [config.id, new ExternalProvider(config, clock, providerTimeoutMs)]),
    )
  }

  /** Ids and names of the providers, in the order of the configuration. */
  get choices(): readonly { readonly id: string; readonly name: string }[] {
    return this.#context.identityProviders
  }

  register(app: FastifyInstance): void {
    const url = '/external/:provider/callback'
    app.get<{ Params: { provider: string } }>(url, { errorHandler: sendFailure }, (request, reply) =>
      this.#answer(request, reply, request.params.provider),
    )
  }

  /**
   * Sends the browser to a provider; it comes back to the page that it is on now.
   * @param bound names the form that asks, for `take`
   */
  async begin(request: FastifyRequest, reply: FastifyReply, id: string, bound: string): Promise<FastifyReply> {
    const provider = this.#providers.get(id)
    if (provider === undefined) return sendPage(reply, 404, overPage)
    const secret = () => randomBytes(32).toString('base64url')
    const challenge = { state: secret(), nonce: secret(), verifier: secret() }
    const returnTo = `${this.#context.authUrl()}${pathOf(request.url)}`
    let target: string
    try {
      target = await provider.authorizationUrl(this.#redirectUri(id), challenge)
    } catch (error) {
      this.#warn(error, id)
      return sendPage(reply, 502, awayPage(provider.config.name, returnTo))
    }
    const until = this.#context.clock.now().getTime() + PENDING_MS
    this.#setCookie(reply, { kind: 'asked', provider: id, ...challenge, bound, returnTo, until })
    return reply.headers(pageHeaders).redirect(target, 303)
  }

  /** Returns the identity with which this browser has just come back to this form, once; null if there is none. */
  take({ headers }: FastifyRequest, reply: FastifyReply, bound: string): Proved | null {
    const kept = this.#open(headers.cookie)
    if (kept?.kind !== 'answered' || kept.bound !== bound) return null
    this.#setCookie(reply, null)
    const provider = this.#providers.get(kept.provider)
    return provider === undefined ? null : { provider, identity: kept.identity }
  }

  /** Seals an identity that was proved for the next step of the same form. */
  hold({ provider, identity }: Proved, bound: string): string {
    const { clock, masterKey } = this.#context
    const held = { provider: provider.config.id, identity, until: clock.now().getTime() + CLAIM_MS }
    return masterKey.seal(JSON.stringify(held), `claim/${bound}`).toString('base64url')
  }

  /** Returns the identity that `hold` sealed for this form; null if it is another's, or too long ago. */
  release(sealed: string, bound: string): Proved | null {
    const { clock, masterKey } = this.#context
    try {
      const opened = masterKey.open(Buffer.from(sealed, 'base64url'), `claim/${bound}`)
      const held: Pick<Answered, 'provider' | 'identity' | 'until'> = JSON.parse(opened.toString())
      const provider = this.#providers.get(held.provider)
      if (provider === undefined || held.until <= clock.now().getTime()) return null
      return { provider, identity: held.identity }
    } catch (error) {
      if (error instanceof UnsealError) return null
      throw error
    }
  }

  async #answer(request: FastifyRequest, reply: FastifyReply, id: string): Promise<FastifyReply> {
    // Each answer costs a request to the provider, and a refusal an entry of the audit log.
    await meterPage(this.#meter, request.ip)
    const kept = this.#open(request.headers.cookie)
    const provider = this.#providers.get(id)
    // Another provider's answer, or one that this browser did not ask for.
    if (provider === undefined || kept?.kind !== 'asked' || kept.provider !== id) return sendPage(reply, 400, overPage)
    const { bound, returnTo } = kept
    const { name } = provider.config
    try {
      const query = request.url.slice(pathOf(request.url).length)
      const identity = await provider.identify(new URL(`${this.#redirectUri(id)}${query}`), kept)
      const until = this.#context.clock.now().getTime() + ANSWERED_MS
      this.#setCookie(reply, { kind: 'answered', provider: id, identity, bound, until })
      return reply.headers(pageHeaders).redirect(returnTo, 303)
    } catch (error) {
      this.#setCookie(reply, null)
      const reason = this.#warn(error, id)
      await this.#recordRefusal(request.ip, id, reason)
      const isRefused = error instanceof Error && error.name === 'AuthorizationResponseError'
      return isRefused
        ? sendPage(reply, 403, refusedPage(name, returnTo))
        : sendPage(reply, 502, awayPage(name, returnTo))
    }
  }

  /** The cause of such an error may hold tokens, so only its code is logged. @returns the code */
  #warn(error: unknown, provider: string): string {
    const { code, name } = Object(error)
    const reason = typeof code === 'string' ? code : String(name)
    this.#log.warn({ provider, reason }, 'a sign-in with an external provider failed')
    return reason
  }

  async #recordRefusal(address: string, provider: string, reason: string): Promise<void> {
    const { db, clock } = this.#context
    const actor = { kind: 'person', id: null, name: null } as const
    const details = { page: 'external', provider, reason }
    const entry = {
      organizationId: null,
      actor,
      action: 'sign_in.refused',
      address,
      outcome: 'refused',
      details,
    } as const
    await appendAudit(db, entry, clock.now())
  }

  #redirectUri(id: string): string {
    return `${this.#context.authUrl()}/external/${id}/callback`
  }

  /** The browser comes back from another site: a cookie that is `Strict` would stay behind. */
  #setCookie(reply: FastifyReply, kept: PendingChallenge | Answered | null): void {
    const { authUrl, clock, masterKey } = this.#context
    const { name, path, secure } = commonCookie(authUrl(), 'external')
    const value = kept === null ? '' : masterKey.seal(JSON.stringify(kept), name).toString('base64url')
    const seconds = kept === null ? 0 : Math.ceil((kept.until - clock.now().getTime()) / 1000)
    const attributes = `Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
    reply.header('set-cookie', `${name}=${value}; ${attributes}`)
  }

  #open(header: string | undefined): PendingChallenge | Answered | null {
    return openCookie(this.#context, commonCookie(this.#context.authUrl(), 'external').name, header)
  }
}
