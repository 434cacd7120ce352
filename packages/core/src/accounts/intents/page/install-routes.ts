import { credentialDigest } from '@berth/platform/storage/master-key.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { appendAudit } from '../../audit/append.ts'
import { listMembers } from '../../organizations/memberships.ts'
import { sendFailure } from '../../pages/failure.ts'
import { readForm } from '../../pages/form.ts'
import { formToken, isOwnForm } from '../../pages/form-token.ts'
import { html } from '../../pages/html.ts'
import { pageHeaders, sendPage } from '../../pages/layout.ts'
import type { SignInContext } from '../../sign-in/configuration.ts'
import { type PageSession, PageSessions } from '../../sign-in/page-session.ts'
import type { Proven } from '../../sign-in/password-step.ts'
import type { SignIn } from '../../sign-in/sign-in.ts'
import type { SignInForm, SignInPlace } from '../../sign-in/sign-in-form.ts'
import { listMembershipsToChoose, type MembershipToChoose } from '../../sign-in/sign-in-sql.ts'
import { findDecider, mayInstall } from '../consent-sql.ts'
import { type Decision, decideIntent, findDecided } from '../decide-intent.ts'
import { findIntentToShow, type IntentToShow } from '../intent-sql.ts'
import {
  askSomebodyPage,
  choicePage,
  deadIntentPage,
  decidedPage,
  formOutOfDatePage,
  installPage,
  noMembershipPage,
  nothingInstalledPage,
} from './install-pages.ts'

type InstallRequest = FastifyRequest<{ Params: { id: string } }>

/** What one request of the page works with. */
interface Step extends SignInPlace {
  readonly request: InstallRequest
  readonly intent: IntentToShow
  readonly session: PageSession
}

type Person = NonNullable<PageSession['person']>

/** The page on which a member approves or denies that an app is installed in their organization. */
export class InstallRoutes {
  readonly #context: SignInContext
  readonly #sessions: PageSessions
  readonly #signInForm: SignInForm

  constructor(context: SignInContext, { provider, form }: Pick<SignIn, 'provider' | 'form'>) {
    this.#context = context
    this.#sessions = new PageSessions(context, provider, 'install')
    this.#signInForm = form
  }

  register(app: FastifyInstance): void {
    const url = '/install/:id'
    app.get(url, { errorHandler: sendFailure }, async (request: InstallRequest, reply) => {
      const intent = await this.#intent(request)
      if (intent === null) return sendPage(reply, 404, deadIntentPage)
      const session = (await this.#sessions.find(request, reply)) ?? (await this.#sessions.begin(reply, null))
      const step = this.#step(request, reply, intent, session)
      if (session.person !== null) return this.#ask(step, session.person)
      return this.#signedIn(step, await this.#signInForm.ask(step))
    })
    app.post(url, { errorHandler: sendFailure }, async (request: InstallRequest, reply) => {
      const form = await readForm(request)
      const session = await this.#sessions.find(request, reply)
      const intent = await this.#intent(request)
      if (intent === null) return this.#answerAgain(request, reply, session, form)
      if (session === null) return sendPage(reply, 403, formOutOfDatePage)
      const step = this.#step(request, reply, intent, session)
      if (!isOwnForm(request, form, step.csrf, this.#context.authUrl())) return sendPage(reply, 403, formOutOfDatePage)
      return session.person === null ? this.#signIn(step, form) : this.#answer(step, session.person, form)
    })
  }

  #intent({ params }: InstallRequest): Promise<IntentToShow | null> {
    const { db, clock } = this.#context
    return findIntentToShow(db, credentialDigest(params.id), clock.now())
  }

  /** Forms are bound to the intent and to the browser's session. */
  #step(request: InstallRequest, reply: FastifyReply, intent: IntentToShow, session: PageSession): Step {
    const bound = boundOf(request, session)
    const csrf = formToken(this.#context.masterKey, bound)
    const purpose = html`Then you decide whether <strong>${intent.name}</strong> is installed.`
    return { request, reply, intent, session, bound, csrf, page: 'install', purpose }
  }

  async #signIn(step: Step, form: URLSearchParams): Promise<FastifyReply> {
    if (form.get('decision') === 'cancel') return sendPage(step.reply, 200, nothingInstalledPage)
    return this.#signedIn(step, await this.#signInForm.take(step, form))
  }

  /** @param proven null if the form has answered */
  async #signedIn({ request, reply }: Step, proven: Proven | null): Promise<FastifyReply> {
    if (proven === null) return reply
    await this.#sessions.begin(reply, proven)
    return reply.headers(pageHeaders).redirect(this.#pathOf(request), 303)
  }

  /** Asks the next question: where to install, if the person has not chosen yet, and then whether. */
  async #ask(step: Step, person: Person): Promise<FastifyReply> {
    const { request, reply, intent } = step
    const chosen = new URLSearchParams(request.url.split('?')[1]).get('membership')
    const memberships = await listMembershipsToChoose(this.#context.db, person.id)
    const [first, ...others] = memberships
    if (first === undefined) return sendPage(reply, 403, noMembershipPage)
    const form = { csrf: step.csrf, intent, email: person.email }
    if (chosen === null && others.length > 0) return sendPage(reply, 200, choicePage({ ...form, memberships }))
    const membership = chosen === null ? first : memberships.find(({ id }) => id === chosen)
    if (membership === undefined) return sendPage(reply, 403, formOutOfDatePage)
    const decider = await findDecider(this.#context.db, membership.id)
    if (decider === null || !mayInstall(decider)) return this.#sendToOthers(step, membership)
    return sendPage(reply, 200, installPage({ ...form, membership }))
  }

  async #answer(step: Step, person: Person, form: URLSearchParams): Promise<FastifyReply> {
    const { request, reply } = step
    const { db, clock } = this.#context
    const decision = form.get('decision')
    const chosen = form.get('membership') ?? ''
    // The answer to a choice has an address of its own, so the back button asks for no form to be sent again.
    if (decision !== 'approve' && decision !== 'deny') {
      const query = new URLSearchParams({ membership: chosen })
      return reply.headers(pageHeaders).redirect(`${this.#pathOf(request)}?${query}`, 303)
    }
    const memberships = await listMembershipsToChoose(db, person.id)
    const membership = memberships.find(({ id }) => id === chosen)
    if (membership === undefined) return sendPage(reply, 403, formOutOfDatePage)
    const approve = decision === 'approve'
    const decided = await db.transaction(tx =>
      decideIntent(tx, request.params.id, membership.id, approve, clock.now(), request.ip),
    )
    switch (decided.kind) {
      case 'gone':
        return sendPage(reply, 404, deadIntentPage)
      case 'forbidden':
        await this.#recordForbidden(step, person, membership)
        return this.#sendToOthers(step, membership)
      default:
        return sendDecided(reply, decided)
    }
  }

  /** Answers a form of an intent that waits no more: as it did before if the form is one sent twice. */
  async #answerAgain(
    request: InstallRequest,
    reply: FastifyReply,
    session: PageSession | null,
    form: URLSearchParams,
  ): Promise<FastifyReply> {
    const { db, clock, masterKey, authUrl } = this.#context
    const chosen = form.get('membership')
    if (session === null || session.person === null || chosen === null || form.get('decision') === 'deny') {
      return sendPage(reply, 404, deadIntentPage)
    }
    const isOwn = isOwnForm(request, form, formToken(masterKey, boundOf(request, session)), authUrl())
    const memberships = isOwn ? await listMembershipsToChoose(db, session.person.id) : []
    const membership = memberships.find(({ id }) => id === chosen)
    if (membership === undefined) return sendPage(reply, 404, deadIntentPage)
    const decided = await findDecided(db, request.params.id, membership.id, clock.now())
    return decided.kind === 'gone' ? sendPage(reply, 404, deadIntentPage) : sendDecided(reply, decided)
  }

  /** Tells a member who may not decide whom to ask. */
  async #sendToOthers({ reply, intent }: Step, membership: MembershipToChoose): Promise<FastifyReply> {
    const members = await listMembers(this.#context.db, membership.organization_id)
    const names = members.filter(member => !member.disabled && mayInstall(member)).map(({ name }) => name)
    return sendPage(reply, 403, askSomebodyPage(intent.name, membership.organization, names))
  }

  #pathOf({ params }: InstallRequest): string {
    return `${new URL(this.#context.authUrl()).pathname.replace(/\/$/, '')}/install/${params.id}`
  }

  async #recordForbidden({ request, intent }: Step, { id, name }: Person, membership: MembershipToChoose) {
    const { db, clock } = this.#context
    const entry = {
      organizationId: membership.organization_id,
      actor: { kind: 'person', id, name },
      action: 'intent.forbidden',
      target: `app ${intent.slug}`,
      address: request.ip,
      outcome: 'refused',
    } as const
    await appendAudit(db, entry, clock.now())
  }
}

const boundOf = ({ params }: InstallRequest, { key }: PageSession): string => `install/${params.id}/${key}`

/** Sends the person on after their decision. */
function sendDecided(
  reply: FastifyReply,
  { kind, redirect }: Extract<Decision, { kind: 'authorized' | 'denied' }>,
): FastifyReply {
  return redirect === null
    ? sendPage(reply, 200, decidedPage(kind === 'authorized'))
    : reply.headers(pageHeaders).redirect(redirect, 303)
}
