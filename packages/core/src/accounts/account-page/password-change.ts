import type { FastifyReply } from 'fastify'
import { passwordFault } from '../links/sent-fields.ts'
import { sendPage } from '../pages/layout.ts'
import { hashPassword } from '../people/password.ts'
import { endEverySession } from '../people/person.ts'
import { rememberBrowser } from '../sign-in/known-browser.ts'
import { replacePasswordHash } from '../sign-in/sign-in-sql.ts'
import type { AccountPage, AccountRoom, AccountStep } from './account-room.ts'
import { passwordPage } from './password-page.ts'
import { doubtOf } from './reauthentication.ts'

/** Lets a person change their password; it ends every other session and sign-in of theirs. */
export class PasswordChange implements AccountPage {
  readonly #room: AccountRoom

  constructor(room: AccountRoom) {
    this.#room = room
  }

  async show(step: AccountStep): Promise<FastifyReply> {
    return this.#ask(step, 200, null)
  }

  async act(step: AccountStep, form: URLSearchParams): Promise<FastifyReply> {
    const { person, request, reply } = step
    const { db, clock } = this.#room.context
    const doubt = await doubtOf(this.#room, step, form)
    if (doubt !== null) return this.#ask(step, doubt.status, doubt.message)
    const before = person.passwordHash ?? ''
    const password = form.get('new-password') ?? ''
    const fault = passwordFault(password, person.email)
    if (fault !== null) return this.#ask(step, 422, fault)
    const hash = await hashPassword(password)
    const began = await db.transaction(async tx => {
      // Whoever knows the old password must not undo a reset that ends at this moment.
      const isChanged = await replacePasswordHash(tx, person.id, before, hash)
      return isChanged ? endEverySession(tx, person.id, clock.now()) : null
    })
    if (began === null) return this.#ask(step, 409, 'Your password was changed in another window.')
    await this.#room.record(step, 'person.password_changed')
    await this.#room.sessions.renew(request, reply, person.id, began)
    rememberBrowser(this.#room.context, request, reply, { personId: person.id, began })
    return this.#room.goTo(reply, '/account')
  }

  #ask({ reply, csrf, person }: AccountStep, status: number, message: string | null): FastifyReply {
    const back = this.#room.href('/account')
    return sendPage(reply, status, passwordPage({ csrf, email: person.email, back, message }))
  }
}
