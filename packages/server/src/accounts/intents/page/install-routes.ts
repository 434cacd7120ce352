import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { credentialDigest } from '../../../storage/master-key.ts'
import { appendAudit } from '../../audit/append.ts'
import { listMembers } from '../../organizations/memberships.ts'
import { sendFailure } from '../../pages/failure.ts'
import { readForm } from '../../pages/form.ts'
import { pageHeaders, sendPage } from '../../pages/layout.ts'
import { isSameOrigin } from '../../pages/same-origin.ts'
import type { SignInContext } from '../../sign-in/configuration.ts'
import { secondFactorPage, signInPage } from '../../sign-in/pages/sign-in-page.ts'
import { PasswordStep } from '../../sign-in/password-step.ts'
import type { OpenIdProvider } from '../../sign-in/provider.ts'
import { listMembershipsToChoose, type MembershipToChoose } from '../../sign-in/sign-in-sql.ts'
import { findDecider, mayInstall } from '../consent-sql.ts'
import { decideIntent } from '../decide-intent.ts'
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
import { type InstallSession, InstallSessions } from './install-session.ts'

type InstallRequest = FastifyRequest<{ Params: { id: string } }>

/** What one request of the page works with. */
interface Step {
  readonly request: InstallRequest
  readonly reply: FastifyReply
  readonly intent: IntentToShow
  readonly session: InstallSession
}

type Person = NonNullable<InstallSession['person']>

/** The page on which a member approves or denies that an app is installed in their organization. */
export class InstallRoutes {
  readonly #context: SignInContext
  readonly #sessions: InstallSessions
  readonly #passwords: PasswordStep

  constructor(context: SignInContext, provider: OpenIdProvider) {
    this.#context = context
    this.#sessions = new InstallSessions(context, provider)
    this.#passwords = new PasswordStep(context)
  }

  register(app: FastifyInstance): void {
    const url = '/install/:id'
    app.get(url, { errorHandler: sendFailure }, async (request: InstallRequest, reply) => {
      const intent = await this.#intent(request)
      if (intent === null) return sendPage(reply, 404, deadIntentPage)
      const session = (await this.#sessions.find(request, reply)) ?? (await this.#sessions.begin(reply, null))
      const step = { request, reply, intent, session }
      return session.person === null ? this.#askToSignIn(step) : this.#ask(step, session.person, null)
    })
    app.post(url, { errorHandler: sendFailure }, async (request: InstallRequest, reply) => {
      const form = await readForm(request)
      const intent = await this.#intent(request)
      if (intent === null) return sendPage(reply, 404, deadIntentPage)
      const session = await this.#sessions.find(request, reply)
      if (session === null) return sendPage(reply, 403, formOutOfDatePage)
      const step = { request, reply, intent, session }
      if (!this.#isOwnForm(step, form)) return sendPage(reply, 403, formOutOfDatePage)
      return session.person === null ? this.#signIn(step, form) : this.#answer(step, session.person, form)
    })
  }

  #intent({ params }: InstallRequest): Promise<IntentToShow | null> {
    const { db, clock } = this.#context
    return findIntentToShow(db, credentialDigest(params.id), clock.now())
  }

  /** The token of the forms of this intent in this browser. */
  #csrf({ request, session }: Step): string {
    return this.#context.masterKey.digest(`install/${request.params.id}/${session.key}`).toString('base64url')
  }

  #isOwnForm(step: Step, form: URLSearchParams): boolean {
    if (!isSameOrigin(step.request.headers, this.#context.authUrl())) return false
    const [given, expected] = [Buffer.from(form.get('csrf') ?? ''), Buffer.from(this.#csrf(step))]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  #askToSignIn(step: Step): FastifyReply {
    return sendPage(step.reply, 200, signInPage({ csrf: this.#csrf(step), email: '', message: null }))
  }

  async #signIn(step: Step, form: URLSearchParams): Promise<FastifyReply> {
    const { request, reply, session } = step
    if (form.get('decision') === 'cancel') return sendPage(reply, 200, nothingInstalledPage)
    const csrf = this.#csrf(step)
    const factor = form.get('factor')
    const email = (form.get('email') ?? '').trim()
    const bound = `install/${session.key}`
    const attempt =
      factor === null
        ? await this.#passwords.password(bound, request.ip, email, form.get('password') ?? '')
        : await this.#passwords.secondFactor(bound, request.ip, factor, form.get('code') ?? '')
    const again = (message: string, status: number) =>
      factor === null
        ? sendPage(reply, status, signInPage({ csrf, email, message }))
        : sendPage(reply, status, secondFactorPage({ csrf, factor, message }))
    switch (attempt.kind) {
      case 'signed-in':
        await this.#recordSignIn(request.ip, attempt.personId, 'sign_in.verified')
        await this.#sessions.begin(reply, attempt.personId)
        return reply.headers(pageHeaders).redirect(this.#pathOf(request), 303)
      case 'second-factor':
        return sendPage(reply, 200, secondFactorPage({ csrf, factor: attempt.factor, message: null }))
      case 'too-late':
        return sendPage(reply, 401, signInPage({ csrf, email, message: 'That took too long. Sign in once more.' }))
      case 'limited':
        reply.header('retry-after', String(attempt.retryAfterSeconds))
        return again(`Too many attempts. Try again in ${attempt.retryAfterSeconds} seconds.`, 429)
      case 'wrong':
        await this.#recordSignIn(request.ip, attempt.personId, 'sign_in.refused')
        return again(factor === null ? 'Email or password is wrong.' : 'This code is wrong, or was used before.', 401)
    }
  }

  /** Asks the next question. @param chosen the organization's membership; null if the person has not chosen */
  async #ask(step: Step, person: Person, chosen: string | null): Promise<FastifyReply> {
    const { reply, intent } = step
    const memberships = await listMembershipsToChoose(this.#context.db, person.id)
    const [first, ...others] = memberships
    if (first === undefined) return sendPage(reply, 403, noMembershipPage)
    const form = { csrf: this.#csrf(step), intent, email: person.email }
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
    if (decision !== 'approve' && decision !== 'deny') return this.#ask(step, person, chosen)
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
        return decided.redirect === null
          ? sendPage(reply, 200, decidedPage(approve))
          : reply.headers(pageHeaders).redirect(decided.redirect, 303)
    }
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

  async #recordSignIn(address: string, personId: string | null, action: 'sign_in.verified' | 'sign_in.refused') {
    const { db, clock } = this.#context
    const actor = { kind: 'person', id: personId, name: null } as const
    const outcome = action === 'sign_in.refused' ? 'refused' : 'done'
    const entry = { organizationId: null, actor, action, address, outcome, details: { page: 'install' } } as const
    await appendAudit(db, entry, clock.now())
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
