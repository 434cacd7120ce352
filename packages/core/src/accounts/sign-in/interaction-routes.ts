import { ApiError } from '@berth/platform/kit/api-error.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Interaction, InteractionResults, Provider } from 'oidc-provider'
import { cloudClient } from '../../identity/tokens/token-types.ts'
import { sendFailure } from '../pages/failure.ts'
import { readForm } from '../pages/form.ts'
import { formToken, isOwnForm } from '../pages/form-token.ts'
import { html } from '../pages/html.ts'
import { pageHeaders, plainPage, sendPage } from '../pages/layout.ts'
import { consoleClient } from './clients.ts'
import { interactionPath, type SignInContext } from './configuration.ts'
import { type Approval, approve, choicesOf } from './consent-step.ts'
import { consentPage } from './pages/consent-page.ts'
import type { Proven } from './password-step.ts'
import type { OpenIdProvider } from './provider.ts'
import type { SignInForm, SignInPlace } from './sign-in-form.ts'
import { readEnabledPerson } from './sign-in-sql.ts'

/** What one request of an interaction works with. */
interface Step extends SignInPlace {
  readonly provider: Provider
  readonly interaction: Interaction
}

const declined = { error: 'access_denied', error_description: 'the person declined' }

/** The pages on which a person signs in, chooses a membership and approves a client. */
export class InteractionRoutes {
  readonly #context: SignInContext
  readonly #provider: OpenIdProvider
  readonly #signInForm: SignInForm

  constructor(context: SignInContext, provider: OpenIdProvider, signInForm: SignInForm) {
    this.#context = context
    this.#provider = provider
    this.#signInForm = signInForm
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
      if (!isOwnForm(request, form, step.csrf, this.#context.authUrl())) return sendPage(reply, 403, outOfDate)
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
    const bound = `interaction/${interaction.uid}/${interaction.prompt.name}/${interaction.session?.accountId ?? ''}`
    const csrf = formToken(this.#context.masterKey, bound)
    const name = await nameOfClient(provider, interaction)
    const purpose =
      interaction.deviceCode !== undefined
        ? html`This connects the device that shows your code.`
        : name === null
          ? html`A program on this machine asks you to sign in.`
          : html`<strong>${name}</strong> asks you to sign in.`
    return { request, reply, provider, interaction, csrf, bound, page: 'interaction', purpose }
  }

  async #askToSignIn(step: Step): Promise<FastifyReply> {
    const { login_hint: hint } = step.interaction.params
    return this.#signedIn(step, await this.#signInForm.ask(step, typeof hint === 'string' ? hint : ''))
  }

  async #signIn(step: Step, form: URLSearchParams): Promise<FastifyReply> {
    return this.#signedIn(step, await this.#signInForm.take(step, form))
  }

  /** @param proven null if the form has answered */
  async #signedIn(step: Step, proven: Proven | null): Promise<FastifyReply> {
    if (proven === null) return step.reply
    const { personId: accountId, began: ts, methods } = proven
    return this.#finish(step, { login: { accountId, ts, amr: [...methods] } })
  }

  async #askToContinue(step: Step): Promise<FastifyReply> {
    const candidate = await this.#findCandidate(step)
    if (candidate === null) return this.#finish(step, noMembership)
    const { params, deviceCode } = step.interaction
    const [membership, ...others] = candidate.memberships
    // A console is the operator's own, and its redirect is registered. It asks where to act and nothing else.
    const asksWhere = this.#isConsole(params['client_id'])
    if (asksWhere && others.length === 0) return this.#approve(step, { ...candidate, membership })
    const lasting = String(params['scope'] ?? '')
      .split(' ')
      .includes('offline_access')
    const { person, memberships } = candidate
    const { name, email } = person
    const device = deviceCode !== undefined
    const client = await nameOfClient(step.provider, step.interaction)
    return sendPage(
      step.reply,
      200,
      consentPage({ csrf: step.csrf, name, email, device, lasting, memberships, client }),
    )
  }

  #isConsole(clientId: unknown): boolean {
    const { firstPartyClients } = this.#context
    return (
      clientId === consoleClient ||
      firstPartyClients.some(({ id, consoleUrl }) => id === clientId && consoleUrl !== null)
    )
  }

  async #continue(step: Step, form: URLSearchParams): Promise<FastifyReply> {
    const candidate = await this.#findCandidate(step)
    if (candidate === null) return this.#finish(step, noMembership)
    const chosen = form.get('membership')
    const membership = candidate.memberships.find(({ id }) => id === chosen)
    if (membership === undefined) return this.#askToContinue(step)
    return this.#approve(step, { ...candidate, membership })
  }

  async #approve(step: Step, chosen: Pick<Approval, 'person' | 'began' | 'membership'>): Promise<FastifyReply> {
    const { request, provider, interaction } = step
    const userAgent = request.headers['user-agent']?.slice(0, 400) ?? null
    const replaces = this.#isConsole(interaction.params['client_id'])
    const approval = { ...chosen, address: request.ip, userAgent, replaces }
    const grantId = await approve(this.#context, provider, interaction, approval)
    return this.#finish(step, grantId === null ? noMembership : { consent: { grantId } })
  }

  /**
   * Returns the person of this browser and the memberships to choose from; null if there is none. A session that has
   * ended since it signed in, by a new password for example, approves nothing.
   */
  async #findCandidate({ provider, interaction }: Step) {
    const { accountId: id, uid } = interaction.session ?? {}
    if (id === undefined || uid === undefined) return null
    const { db } = this.#context
    const session = await provider.Session.findByUid(uid)
    const began = session?.loginTs ?? 0
    const found = await readEnabledPerson(db, id, began)
    const [first, ...others] = await choicesOf(db, interaction, id)
    if (found === null || first === undefined) return null
    return { person: { id, ...found }, began, memberships: [first, ...others] as const }
  }

  async #finish({ request, reply, provider }: Step, result: InteractionResults): Promise<FastifyReply> {
    const next = await provider.interactionResult(request.raw, reply.raw, result)
    return reply.headers(pageHeaders).redirect(next, 303)
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

/** Returns the name that people know a client by; null for a program on their own machine. */
async function nameOfClient(provider: Step['provider'], { params }: Step['interaction']): Promise<string | null> {
  const id = String(params['client_id'])
  return id === cloudClient ? null : ((await provider.Client.find(id))?.clientName ?? id)
}
