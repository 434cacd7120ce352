import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AddressMeter } from '../../identity/guard/address-meter.ts'
import { sendFailure } from '../pages/failure.ts'
import { readForm } from '../pages/form.ts'
import { formToken, isOwnForm } from '../pages/form-token.ts'
import { html } from '../pages/html.ts'
import { pageHeaders, plainPage, sendPage } from '../pages/layout.ts'
import { meterPage } from '../pages/meter-page.ts'
import { findPersonById, type Person } from '../people/person.ts'
import { recordPerson } from '../people/record-person.ts'
import type { SignInContext } from '../sign-in/configuration.ts'
import { type PageSession, PageSessions } from '../sign-in/page-session.ts'
import type { Proven } from '../sign-in/password-step.ts'
import type { OpenIdProvider } from '../sign-in/provider.ts'
import type { SignInForm, SignInPlace } from '../sign-in/sign-in-form.ts'

/** One request of somebody who has signed in. */
export interface AccountStep extends SignInPlace {
  readonly person: Person
  /** When their session began, in seconds of the epoch. */
  readonly began: number
}

/** What one page of the account does. */
export interface AccountPage {
  show(step: AccountStep): Promise<FastifyReply>
  act(step: AccountStep, form: URLSearchParams): Promise<FastifyReply>
}

/** What the pages of a person's own account share: who is there, their forms, and where to go. */
export class AccountRoom {
  readonly context: SignInContext
  readonly sessions: PageSessions
  readonly #meter: Pick<AddressMeter, 'take'>
  readonly #signInForm: SignInForm

  constructor(
    context: SignInContext,
    meter: Pick<AddressMeter, 'take'>,
    provider: OpenIdProvider,
    signInForm: SignInForm,
  ) {
    this.context = context
    this.#meter = meter
    this.sessions = new PageSessions(context, provider, 'account')
    this.#signInForm = signInForm
  }

  /** Adds a page; whoever has not signed in is asked to, and comes back to it. @param path such as `/account/password` */
  add(app: FastifyInstance, path: string, page: AccountPage): void {
    app.get(path, { errorHandler: sendFailure }, async (request, reply) => {
      const session = (await this.sessions.find(request, reply)) ?? (await this.sessions.begin(reply, null))
      const step = await this.#step(request, reply, session)
      if (step.person !== null) return page.show({ ...step, person: step.person })
      return this.#signedIn(reply, path, await this.#signInForm.ask(step))
    })
    app.post(path, { errorHandler: sendFailure }, async (request, reply) => {
      await meterPage(this.#meter, request.ip)
      const form = await readForm(request)
      const session = await this.sessions.find(request, reply)
      if (session === null) return sendPage(reply, 403, outOfDate)
      const step = await this.#step(request, reply, session)
      if (!isOwnForm(request, form, step.csrf, this.context.authUrl())) return sendPage(reply, 403, outOfDate)
      if (step.person !== null) return page.act({ ...step, person: step.person }, form)
      if (form.get('decision') === 'cancel') return sendPage(reply, 200, notSignedIn)
      return this.#signedIn(reply, path, await this.#signInForm.take(step, form))
    })
  }

  /** @param proven null if the form has answered */
  async #signedIn(reply: FastifyReply, path: string, proven: Proven | null): Promise<FastifyReply> {
    if (proven === null) return reply
    await this.sessions.begin(reply, proven)
    return this.goTo(reply, path)
  }

  /** Sends the browser to a page of the service. */
  goTo(reply: FastifyReply, path: string): FastifyReply {
    return reply.headers(pageHeaders).redirect(this.href(path), 303)
  }

  /** Returns the path of a page as browsers see it, behind a proxy that removes a prefix as well. */
  href(path: string): string {
    return `${new URL(this.context.authUrl()).pathname.replace(/\/$/, '')}${path}`
  }

  /** Tells the person's organizations what they did, or tried. */
  async record(
    { person: { id, name }, request }: AccountStep,
    action: string,
    outcome: 'done' | 'refused' = 'done',
  ): Promise<void> {
    const { db, clock } = this.context
    const actor = { kind: 'person', id, name } as const
    await recordPerson(db, id, { actor, action, address: request.ip, outcome }, clock.now())
  }

  async #step(
    request: FastifyRequest,
    reply: FastifyReply,
    { key, person }: PageSession,
  ): Promise<SignInPlace & { readonly person: Person | null; readonly began: number }> {
    const bound = `account/${key}`
    const csrf = formToken(this.context.masterKey, bound)
    const found = person === null ? null : await findPersonById(this.context.db, person.id)
    return { request, reply, bound, csrf, page: 'account', purpose, person: found, began: person?.began ?? 0 }
  }
}

const purpose = html`To see and change your account.`
const outOfDate = plainPage('This form is out of date', 'Go back, reload the page and try again.')
const notSignedIn = plainPage('You have not signed in', 'You can close this page.')
