import type { FastifyReply, FastifyRequest } from 'fastify'
import { appendAudit } from '../audit/append.ts'
import { claimPage, refusalText } from '../external/external-pages.ts'
import type { ExternalSignIn, Proved } from '../external/external-sign-in.ts'
import { personOf } from '../external/person-of.ts'
import type { Html } from '../pages/html.ts'
import { sendPage } from '../pages/layout.ts'
import type { Person } from '../people/person.ts'
import { recordPerson } from '../people/record-person.ts'
import type { SignInContext } from './configuration.ts'
import { knownBrowserOf, rememberBrowser } from './known-browser.ts'
import { secondFactorPage, signInPage } from './pages/sign-in-page.ts'
import { type Attempt, PasswordStep, type Proven } from './password-step.ts'

/** Where somebody is asked to sign in. */
export interface SignInPlace {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The token of the page's forms. */
  readonly csrf: string
  /** Names this browser's form: the proof of a first factor holds for no other. */
  readonly bound: string
  /** The page that asks, for the audit log. */
  readonly page: 'interaction' | 'install' | 'account'
  /** One sentence that says what the person signs in for. */
  readonly purpose: Html
}

/**
 * The form that asks for email, password and second factor, or sends people to a provider that knows them. Pages that let
 * people sign in share it. Whoever has a second factor here is asked for it after a provider as well.
 */
export class SignInForm {
  readonly #context: SignInContext
  readonly #passwords: PasswordStep

  readonly #external: ExternalSignIn

  constructor(context: SignInContext, external: ExternalSignIn) {
    this.#context = context
    this.#external = external
    this.#passwords = new PasswordStep(context)
  }

  /**
   * Shows the form, unless the browser has just come back from a provider.
   * @returns who has signed in there; null if a page was sent instead
   */
  async ask(place: SignInPlace, email = ''): Promise<Proven | null> {
    const proved = this.#external.take(place.request, place.reply, place.bound)
    if (proved !== null) return this.#takeIdentity(place, proved)
    this.#send(place, 200, email, null)
    return null
  }

  /**
   * Judges the form as it was sent; the caller has compared its token.
   *
   * @returns who has signed in; null if another page was sent instead
   * @throws ApiError 503 if too many passwords are being hashed
   */
  async take(place: SignInPlace, form: URLSearchParams): Promise<Proven | null> {
    const { request, reply, csrf, bound } = place
    const chosen = form.get('provider')
    if (chosen !== null) {
      await this.#external.begin(request, reply, chosen, bound)
      return null
    }
    const claim = form.get('claim')
    if (claim !== null) {
      const held = this.#external.release(claim, bound)
      if (held !== null) return this.#takeIdentity(place, held, true)
      this.#send(place, 401, '', 'That took too long. Sign in once more.')
      return null
    }
    const factor = form.get('factor')
    const email = (form.get('email') ?? '').trim()
    const from = {
      address: request.ip,
      browserOf: (person: Person | null) => knownBrowserOf(this.#context, request, person),
    }
    const attempt =
      factor === null
        ? await this.#passwords.password(bound, from, email, form.get('password') ?? '')
        : await this.#passwords.secondFactor(bound, from, factor, form.get('code') ?? '')
    const again = (message: string, status: number) => {
      if (factor === null) this.#send(place, status, email, message)
      else sendPage(reply, status, secondFactorPage({ csrf, factor, message }))
      return null
    }
    switch (attempt.kind) {
      case 'signed-in':
      case 'second-factor':
        return this.#goOn(place, attempt, {})
      case 'too-late':
        this.#send(place, 401, email, 'That took too long. Sign in once more.')
        return null
      case 'limited':
        reply.header('retry-after', String(attempt.retryAfterSeconds))
        return again(`Too many attempts. Try again in ${attempt.retryAfterSeconds} seconds.`, 429)
      case 'wrong':
        await this.#record(place, attempt.personId, 'sign_in.refused')
        return again(factor === null ? 'Email or password is wrong.' : 'This code is wrong, or was used before.', 401)
    }
  }

  async #takeIdentity(place: SignInPlace, proved: Proved, claims = false): Promise<Proven | null> {
    const { db, clock } = this.#context
    const { provider, identity } = proved
    const { id, name } = provider.config
    const found = await personOf(db, clock, provider.config, identity, { address: place.request.ip, claims })
    if (found.kind === 'person') {
      return this.#goOn(place, this.#passwords.afterFirst(place.bound, found.person, []), { provider: id })
    }
    if (found.kind === 'claimable') {
      const claim = this.#external.hold(proved, place.bound)
      sendPage(place.reply, 200, claimPage({ csrf: place.csrf, email: found.email, name, claim }))
      return null
    }
    const { reason, personId } = found
    await this.#record(place, personId, 'sign_in.refused', { provider: id, reason })
    this.#send(place, 403, '', refusalText(reason, name))
    return null
  }

  async #goOn(
    place: SignInPlace,
    attempt: Extract<Attempt, { kind: 'signed-in' | 'second-factor' }>,
    details: { readonly provider?: string },
  ): Promise<Proven | null> {
    if (attempt.kind === 'second-factor') {
      sendPage(place.reply, 200, secondFactorPage({ csrf: place.csrf, factor: attempt.factor, message: null }))
      return null
    }
    const { personId, methods } = attempt.proven
    await this.#record(place, personId, 'sign_in.verified', { methods, ...details })
    rememberBrowser(this.#context, place.request, place.reply, attempt.proven)
    return attempt.proven
  }

  #send({ reply, csrf, purpose }: SignInPlace, status: number, email: string, message: string | null): void {
    const providers = this.#external.choices
    sendPage(reply, status, signInPage({ csrf, email, purpose, message, providers }))
  }

  async #record(
    { request, page }: SignInPlace,
    personId: string | null,
    action: 'sign_in.verified' | 'sign_in.refused',
    details: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    const { db, clock } = this.#context
    const entry = {
      actor: { kind: 'person', id: personId, name: null },
      action,
      address: request.ip,
      outcome: action === 'sign_in.refused' ? 'refused' : 'done',
      details: { page, ...details },
    } as const
    if (personId === null) await appendAudit(db, { ...entry, organizationId: null }, clock.now())
    else await recordPerson(db, personId, entry, clock.now())
  }
}
