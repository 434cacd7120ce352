import type { FastifyReply } from 'fastify'
import type { ExternalSignIn } from '../external/external-sign-in.ts'
import { deleteIdentity, findLinkedPerson, insertIdentity, listIdentities } from '../external/identity-sql.ts'
import { proveByProvider } from '../external/person-of.ts'
import { sendPage } from '../pages/layout.ts'
import type { AccountPage, AccountRoom, AccountStep } from './account-room.ts'
import { identitiesPage } from './identities-page.ts'
import { doubtOf } from './reauthentication.ts'

/** Lets a person link identities of external providers to their account, and unlink them. */
export class Identities implements AccountPage {
  readonly #room: AccountRoom
  readonly #external: ExternalSignIn

  constructor(room: AccountRoom, external: ExternalSignIn) {
    this.#room = room
    this.#external = external
  }

  /** Links the identity with which the browser has come back, if this very form sent it away. */
  async show(step: AccountStep): Promise<FastifyReply> {
    const { request, reply, person } = step
    const proved = this.#external.take(request, reply, linkBound(step))
    if (proved === null) return this.#ask(step, 200, null)
    const { db, clock } = this.#room.context
    const { identity, provider } = proved
    const isNew = await insertIdentity(db, person.id, identity, clock.now(), step.began)
    const linkedTo = isNew ? person.id : await findLinkedPerson(db, identity)
    if (linkedTo !== null && linkedTo !== person.id) {
      await this.#room.record(step, 'person.identity_linked', 'refused')
      return this.#ask(step, 409, `This identity of ${provider.config.name} is linked to another account.`)
    }
    if (isNew) {
      await proveByProvider(db, provider.config, person, identity, clock.now())
      await this.#room.record(step, 'person.identity_linked')
      await this.#room.sessions.renew(request, reply, person.id)
    }
    return this.#room.goTo(reply, '/account/identities')
  }

  async act(step: AccountStep, form: URLSearchParams): Promise<FastifyReply> {
    const { request, reply, person } = step
    if (person.passwordHash !== null) {
      const doubt = await doubtOf(this.#room, step, form)
      if (doubt !== null) return this.#ask(step, doubt.status, doubt.message)
    }
    const chosen = form.get('provider')
    if (chosen !== null) return this.#external.begin(request, reply, chosen, linkBound(step))
    if (form.get('decision') === 'unlink') return this.#unlink(step, form)
    return this.#room.goTo(reply, '/account/identities')
  }

  async #unlink(step: AccountStep, form: URLSearchParams): Promise<FastifyReply> {
    const { request, reply, person } = step
    const { db } = this.#room.context
    const identity = { issuer: form.get('issuer') ?? '', subject: form.get('subject') ?? '' }
    const isOnly = person.passwordHash === null && (await listIdentities(db, person.id)).length < 2
    if (isOnly) return this.#ask(step, 409, 'This is your only way to sign in. Link another one first.')
    if (await deleteIdentity(db, person.id, identity)) {
      await this.#room.record(step, 'person.identity_unlinked')
      await this.#room.sessions.renew(request, reply, person.id)
    }
    return this.#room.goTo(reply, '/account/identities')
  }

  async #ask({ reply, csrf, person }: AccountStep, status: number, message: string | null): Promise<FastifyReply> {
    const { db, identityProviders } = this.#room.context
    const identities = (await listIdentities(db, person.id)).map(identity => ({
      ...identity,
      name: identityProviders.find(({ issuer }) => issuer === identity.issuer)?.name ?? identity.issuer,
    }))
    const page = identitiesPage({
      csrf,
      back: this.#room.href('/account'),
      message,
      hasPassword: person.passwordHash !== null,
      identities,
      providers: this.#external.choices,
    })
    return sendPage(reply, status, page)
  }
}

const linkBound = ({ bound }: AccountStep): string => `link/${bound}`
