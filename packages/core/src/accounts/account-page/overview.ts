import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { FastifyReply } from 'fastify'
import { appendAudit } from '../audit/append.ts'
import { listIdentities } from '../external/identity-sql.ts'
import { sendPage } from '../pages/layout.ts'
import { endOwnSignIn, listSignIns } from '../people/sign-ins.ts'
import { countRecoveryCodes } from '../second-factor/recovery-codes.ts'
import { listMembershipsToChoose } from '../sign-in/sign-in-sql.ts'
import type { AccountPage, AccountRoom, AccountStep } from './account-room.ts'
import { overviewPage } from './overview-page.ts'

/** Shows a person their account, and ends sign-ins. */
export class Overview implements AccountPage {
  readonly #room: AccountRoom

  constructor(room: AccountRoom) {
    this.#room = room
  }

  async show({ reply, person, csrf }: AccountStep): Promise<FastifyReply> {
    const { db, identityProviders } = this.#room.context
    const organizations = new Map(
      (await listMembershipsToChoose(db, person.id)).map(each => [each.organization_id, each.organization]),
    )
    const signIns = (await listSignIns(db, person.id, null)).map(signIn => ({
      ...signIn,
      organization: organizations.get(signIn.organizationId) ?? 'An organization that is suspended',
    }))
    const page = overviewPage({
      csrf,
      path: this.#room.href('/account'),
      name: person.name,
      email: person.email,
      hasPassword: person.passwordHash !== null,
      recoveryCodes: person.totpSecret === null ? null : await countRecoveryCodes(db, person.id),
      signIns,
      hasIdentities: identityProviders.length > 0 || (await listIdentities(db, person.id)).length > 0,
    })
    return sendPage(reply, 200, page)
  }

  async act(step: AccountStep, form: URLSearchParams): Promise<FastifyReply> {
    if (form.get('decision') === 'sign-out') {
      this.#room.sessions.forget(step.reply)
      return this.#room.goTo(step.reply, '/oidc/session/end')
    }
    if (form.get('decision') === 'end') await this.#end(step, form.get('sign-in') ?? '')
    return this.#room.goTo(step.reply, '/account')
  }

  async #end({ request, person }: AccountStep, signInId: string): Promise<void> {
    const { db, clock } = this.#room.context
    if (!isUuid(signInId)) return
    await db.transaction(async tx => {
      const ended = await endOwnSignIn(tx, person.id, signInId, clock.now())
      if (!ended?.isNew) return
      const entry = {
        organizationId: ended.organizationId,
        actor: { kind: 'person', id: person.id, name: person.name },
        action: 'sign_in.ended',
        target: `sign-in/${signInId}`,
        address: request.ip,
        outcome: 'done',
      } as const
      await appendAudit(tx, entry, clock.now())
    })
  }
}
