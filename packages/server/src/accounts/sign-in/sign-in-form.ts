import type { FastifyReply, FastifyRequest } from 'fastify'
import { appendAudit } from '../audit/append.ts'
import type { Html } from '../pages/html.ts'
import { sendPage } from '../pages/layout.ts'
import { recordPerson } from '../people/record-person.ts'
import type { SignInContext } from './configuration.ts'
import { secondFactorPage, signInPage } from './pages/sign-in-page.ts'
import { PasswordStep, type Proven } from './password-step.ts'

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

/** The form that asks for email, password and second factor. Pages that let people sign in share it. */
export class SignInForm {
  readonly #context: SignInContext
  readonly #passwords: PasswordStep

  constructor(context: SignInContext) {
    this.#context = context
    this.#passwords = new PasswordStep(context)
  }

  /** Shows the form. */
  ask({ reply, csrf, purpose }: SignInPlace, email = ''): FastifyReply {
    return sendPage(reply, 200, signInPage({ csrf, email, purpose, message: null }))
  }

  /**
   * Judges the form as it was sent; the caller has compared its token.
   *
   * @returns who has signed in; null if another page was sent instead
   * @throws ApiError 503 if too many passwords are being hashed
   */
  async take(place: SignInPlace, form: URLSearchParams): Promise<Proven | null> {
    const { request, reply, csrf, bound, purpose } = place
    const factor = form.get('factor')
    const email = (form.get('email') ?? '').trim()
    const attempt =
      factor === null
        ? await this.#passwords.password(bound, request.ip, email, form.get('password') ?? '')
        : await this.#passwords.secondFactor(bound, request.ip, factor, form.get('code') ?? '')
    const again = (message: string, status: number) => {
      if (factor === null) sendPage(reply, status, signInPage({ csrf, email, purpose, message }))
      else sendPage(reply, status, secondFactorPage({ csrf, factor, message }))
      return null
    }
    switch (attempt.kind) {
      case 'signed-in':
        await this.#record(place, attempt.proven.personId, 'sign_in.verified', { methods: attempt.proven.methods })
        return attempt.proven
      case 'second-factor':
        sendPage(reply, 200, secondFactorPage({ csrf, factor: attempt.factor, message: null }))
        return null
      case 'too-late':
        sendPage(reply, 401, signInPage({ csrf, email, purpose, message: 'That took too long. Sign in once more.' }))
        return null
      case 'limited':
        reply.header('retry-after', String(attempt.retryAfterSeconds))
        return again(`Too many attempts. Try again in ${attempt.retryAfterSeconds} seconds.`, 429)
      case 'wrong':
        await this.#record(place, attempt.personId, 'sign_in.refused')
        return again(factor === null ? 'Email or password is wrong.' : 'This code is wrong, or was used before.', 401)
    }
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
