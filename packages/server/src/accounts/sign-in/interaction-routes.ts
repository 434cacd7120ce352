import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Interaction, InteractionResults, Provider } from 'oidc-provider'
import { ApiError } from '../../kit/api-error.ts'
import { appendAudit } from '../audit/append.ts'
import { sendFailure } from '../pages/failure.ts'
import { readForm } from '../pages/form.ts'
import { pageHeaders, plainPage, sendPage } from '../pages/layout.ts'
import { isSameOrigin } from '../pages/same-origin.ts'
import { interactionPath, type SignInContext } from './configuration.ts'
import { approve, choicesOf } from './consent-step.ts'
import { consentPage } from './pages/consent-page.ts'
import { secondFactorPage, signInPage } from './pages/sign-in-page.ts'
import { type Attempt, PasswordStep } from './password-step.ts'
import type { OpenIdProvider } from './provider.ts'
import { readEnabledPerson } from './sign-in-sql.ts'

/** What one request of an interaction works with. */
interface Step {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly provider: Provider
  readonly interaction: Interaction
  readonly csrf: string
}

const declined = { error: 'access_denied', error_description: 'the person declined' }

/** The pages on which a person signs in, chooses a membership and approves a client. */
export class InteractionRoutes {
  readonly #context: SignInContext
  readonly #provider: OpenIdProvider
  readonly #passwords: PasswordStep

  constructor(context: SignInContext, provider: OpenIdProvider) {
    this.#context = context
    this.#provider = provider
    this.#passwords = new PasswordStep(context)
  }

  register(app: FastifyInstance): void {
    const url = interactionPath(':id')
    app.get(url, { errorHandler: refuse }, async (request, reply) => {
      const step = await this.#step(request, reply)
      return step.interaction.prompt.name === 'login' ? this.#askToSignIn(step) : this.#askToContinue(step)
    })
    app.post(url, { errorHandler: refuse }, async (request, reply) => {
      const form = await readForm(request)
      const step = await this.#step(request, reply)
      if (!this.#isOwnForm(step, form)) return sendPage(reply, 403, outOfDate)
      if (form.get('decision') === 'cancel') return this.#finish(step, declined)
      if (step.interaction.prompt.name === 'login') return this.#signIn(step, form)
      return this.#continue(step, form)
    })
  }

  /** @throws the provider's SessionNotFound if the interaction is over, or is another browser's */
  async #step(request: FastifyRequest, reply: FastifyReply): Promise<Step> {
    const provider = await this.#provider.get()
    const interaction = await provider.interactionDetails(request.raw, reply.raw)
    const { id } = request.params as { readonly id: string }
    if (interaction.uid !== id) throw new ApiError(400, 'malformed_request')
    const bound = `form/${interaction.uid}/${interaction.prompt.name}/${interaction.session?.accountId ?? ''}`
    const csrf = this.#context.masterKey.digest(bound).toString('base64url')
    return { request, reply, provider, interaction, csrf }
  }

  /** Returns whether the page of this interaction sent the form. */
  #isOwnForm({ request, csrf }: Step, form: URLSearchParams): boolean {
    if (!isSameOrigin(request.headers, this.#context.authUrl())) return false
    const [given, expected] = [Buffer.from(form.get('csrf') ?? ''), Buffer.from(csrf)]
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  #askToSignIn({ reply, interaction, csrf }: Step): FastifyReply {
    const { login_hint: hint } = interaction.params
    return sendPage(reply, 200, signInPage({ csrf, email: typeof hint === 'string' ? hint : '', message: null }))
  }

  async #signIn(step: Step, form: URLSearchParams): Promise<FastifyReply> {
    const { request, interaction, reply, csrf } = step
    const factor = form.get('factor')
    const email = (form.get('email') ?? '').trim()
    const attempt =
      factor === null
        ? await this.#passwords.password(interaction.uid, request.ip, email, form.get('password') ?? '')
        : await this.#passwords.secondFactor(interaction.uid, request.ip, factor, form.get('code') ?? '')
    const again = (message: string, status: number) =>
      factor === null
        ? sendPage(reply, status, signInPage({ csrf, email, message }))
        : sendPage(reply, status, secondFactorPage({ csrf, factor, message }))
    switch (attempt.kind) {
      case 'signed-in':
        return this.#finish(step, { login: { accountId: attempt.personId, amr: [...attempt.methods] } })
      case 'second-factor':
        return sendPage(reply, 200, secondFactorPage({ csrf, factor: attempt.factor, message: null }))
      case 'too-late':
        return sendPage(reply, 401, signInPage({ csrf, email, message: 'That took too long. Sign in once more.' }))
      case 'limited':
        reply.header('retry-after', String(attempt.retryAfterSeconds))
        return again(`Too many attempts. Try again in ${attempt.retryAfterSeconds} seconds.`, 429)
      case 'wrong':
        await this.#recordRefusal(request.ip, attempt)
        return again(factor === null ? 'Email or password is wrong.' : 'This code is wrong, or was used before.', 401)
    }
  }

  async #askToContinue(step: Step): Promise<FastifyReply> {
    const standing = await this.#standing(step)
    if (standing === null) return this.#finish(step, noMembership)
    const { params, deviceCode } = step.interaction
    const lasting = String(params['scope'] ?? '')
      .split(' ')
      .includes('offline_access')
    const { person, memberships } = standing
    const { name, email } = person
    const device = deviceCode !== undefined
    return sendPage(step.reply, 200, consentPage({ csrf: step.csrf, name, email, device, lasting, memberships }))
  }

  async #continue(step: Step, form: URLSearchParams): Promise<FastifyReply> {
    const standing = await this.#standing(step)
    if (standing === null) return this.#finish(step, noMembership)
    const { request, provider, interaction } = step
    const chosen = form.get('membership')
    const membership = standing.memberships.find(({ id }) => id === chosen)
    if (membership === undefined) return this.#askToContinue(step)
    const userAgent = request.headers['user-agent']?.slice(0, 400) ?? null
    const approval = { person: standing.person, membership, address: request.ip, userAgent }
    const grantId = await approve(this.#context, provider, interaction, approval)
    return this.#finish(step, { consent: { grantId } })
  }

  /** Returns the person of this browser and the memberships to choose from; null if there is none. */
  async #standing({ interaction }: Step) {
    const id = interaction.session?.accountId
    if (id === undefined) return null
    const { db } = this.#context
    const found = await readEnabledPerson(db, id)
    const [first, ...others] = await choicesOf(db, interaction, id)
    if (found === null || first === undefined) return null
    return { person: { id, ...found }, memberships: [first, ...others] as const }
  }

  async #finish({ request, reply, provider }: Step, result: InteractionResults): Promise<FastifyReply> {
    const next = await provider.interactionResult(request.raw, reply.raw, result)
    return reply.headers(pageHeaders).redirect(next, 303)
  }

  async #recordRefusal(address: string, { personId }: Extract<Attempt, { kind: 'wrong' }>): Promise<void> {
    const { db, clock } = this.#context
    const actor = { kind: 'person', id: personId, name: null } as const
    const entry = { organizationId: null, actor, action: 'sign_in.refused', address, outcome: 'refused' } as const
    await appendAudit(db, entry, clock.now())
  }
}

const over = plainPage(
  'This sign-in is over',
  'It has ended, or was started in another browser. Start again from the program that sent you.',
)
const outOfDate = plainPage('This form is out of date', 'Start again from the program that sent you.')

/** Answers an error with a page. */
function refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return error instanceof Error && error.name === 'SessionNotFound'
    ? sendPage(reply, 400, over)
    : sendFailure(error, request, reply)
}

const noMembership = { error: 'access_denied', error_description: 'no membership that this request could be for' }
