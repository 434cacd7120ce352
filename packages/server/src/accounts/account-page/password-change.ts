import type { FastifyReply } from 'fastify'
import { passwordFault } from '../links/sent-fields.ts'
import { sendPage } from '../pages/layout.ts'
import { hashPassword } from '../people/password.ts'
import { endEverySession, setPassword } from '../people/person.ts'
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
    const password = form.get('new-password') ?? ''
    const fault = passwordFault(password, person.email)
    if (fault !== null) return this.#ask(step, 422, fault)
    const hash = await hashPassword(password)
    const began = await db.transaction(async tx => {
      await setPassword(tx, person.id, hash)
      return endEverySession(tx, person.id, clock.now())
    })
    await this.#room.record(step, 'person.password_changed')
    await this.#room.sessions.renew(request, reply, person.id, began)
    return this.#room.goTo(reply, '/account')
  }

  #ask({ reply, csrf, person }: AccountStep, status: number, message: string | null): FastifyReply {
    const back = this.#room.href('/account')
    return sendPage(reply, status, passwordPage({ csrf, email: person.email, back, message }))
  }
}
