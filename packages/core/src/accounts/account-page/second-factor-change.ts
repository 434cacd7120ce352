import { randomBytes } from 'node:crypto'
import { UnsealError } from '@berth/platform/storage/master-key.ts'
import type { FastifyReply } from 'fastify'
import { type Page, sendPage } from '../pages/layout.ts'
import { base32 } from '../second-factor/base32.ts'
import { replaceRecoveryCodes } from '../second-factor/recovery-codes.ts'
import { enrolSecondFactor, removeSecondFactor } from '../second-factor/second-factor.ts'
import { stepOfCode } from '../second-factor/totp.ts'
import type { AccountPage, AccountRoom, AccountStep } from './account-room.ts'
import { doubtOf } from './reauthentication.ts'
import { beginPage, changePage, confirmPage, recoveryCodesPage } from './second-factor-pages.ts'

/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20
/** Time to confirm a new secret. */
const PROPOSAL_MS = 15 * 60_000

/** A secret that no authenticator has confirmed yet. Nothing is stored of it; the form carries it, sealed. */
interface Proposal {
  readonly secret: Buffer
  readonly sealed: string
}

/** Lets a person set up a second factor, replace its recovery codes, and turn it off. */
export class SecondFactorChange implements AccountPage {
  readonly #room: AccountRoom

  constructor(room: AccountRoom) {
    this.#room = room
  }

  async show(step: AccountStep): Promise<FastifyReply> {
    return this.#ask(step, 200, null)
  }

  async act(step: AccountStep, form: URLSearchParams): Promise<FastifyReply> {
    const { person } = step
    if (person.passwordHash === null) return this.#room.goTo(step.reply, '/account')
    const decision = form.get('decision')
    if (decision === 'confirm') return this.#confirm(step, form)
    if (person.totpSecret === null) {
      const doubt = await doubtOf(this.#room, step, form)
      return doubt === null
        ? this.#propose(step, this.#newProposal(step))
        : this.#ask(step, doubt.status, doubt.message)
    }
    const doubt = await doubtOf(this.#room, step, form, true)
    if (doubt !== null) return this.#ask(step, doubt.status, doubt.message)
    return decision === 'remove' ? this.#remove(step) : this.#replaceCodes(step)
  }

  async #confirm(step: AccountStep, form: URLSearchParams): Promise<FastifyReply> {
    const { person, request, reply } = step
    const { db, clock, masterKey } = this.#room.context
    const proposal = this.#openProposal(step, form.get('proposal') ?? '')
    if (proposal === null) return this.#ask(step, 401, 'That took too long. Begin once more.')
    const confirmed = stepOfCode(proposal.secret, form.get('code') ?? '', clock.now())
    if (confirmed === null) return this.#propose(step, proposal, 'This code is wrong. Try the next one.')
    const codes = await db.transaction(tx =>
      enrolSecondFactor(tx, masterKey, person.id, proposal.secret, confirmed, step.began),
    )
    if (codes === null) return this.#ask(step, 409, 'Your second factor was set up in another window.')
    await this.#room.record(step, 'person.second_factor_enrolled')
    await this.#room.sessions.renew(request, reply, person.id)
    return this.#send(step, 200, recoveryCodesPage(codes, this.#back))
  }

  async #remove(step: AccountStep): Promise<FastifyReply> {
    const { person, request, reply } = step
    await this.#room.context.db.transaction(tx => removeSecondFactor(tx, person.id))
    await this.#room.record(step, 'person.second_factor_removed')
    await this.#room.sessions.renew(request, reply, person.id)
    return this.#room.goTo(reply, '/account')
  }

  async #replaceCodes(step: AccountStep): Promise<FastifyReply> {
    const { db, masterKey } = this.#room.context
    const codes = await db.transaction(tx => replaceRecoveryCodes(tx, masterKey, step.person.id))
    await this.#room.record(step, 'person.recovery_codes_replaced')
    return this.#send(step, 200, recoveryCodesPage(codes, this.#back))
  }

  #ask(step: AccountStep, status: number, message: string | null): FastifyReply {
    const form = { csrf: step.csrf, back: this.#back, message }
    return this.#send(step, status, step.person.totpSecret === null ? beginPage(form) : changePage(form))
  }

  #propose(step: AccountStep, { secret, sealed }: Proposal, message: string | null = null): FastifyReply {
    const key = base32(secret)
    const issuer = `Berth ${new URL(this.#room.context.authUrl()).host}`
    const label = encodeURIComponent(`${issuer}:${step.person.email}`)
    const uri = `otpauth://totp/${label}?secret=${key}&issuer=${encodeURIComponent(issuer)}`
    const form = { csrf: step.csrf, back: this.#back, message, proposal: sealed, secret: key, uri }
    return this.#send(step, message === null ? 200 : 401, confirmPage(form))
  }

  #newProposal(step: AccountStep): Proposal {
    const { clock, masterKey } = this.#room.context
    const secret = randomBytes(SECRET_BYTES)
    const content = { secret: secret.toString('base64'), until: clock.now().getTime() + PROPOSAL_MS }
    return { secret, sealed: masterKey.seal(JSON.stringify(content), proposalContext(step)).toString('base64url') }
  }

  #openProposal(step: AccountStep, sealed: string): Proposal | null {
    const { clock, masterKey } = this.#room.context
    try {
      const opened = masterKey.open(Buffer.from(sealed, 'base64url'), proposalContext(step))
      const { secret, until } = JSON.parse(opened.toString())
      return until <= clock.now().getTime() ? null : { secret: Buffer.from(secret, 'base64'), sealed }
    } catch (error) {
      if (error instanceof UnsealError) return null
      throw error
    }
  }

  #send({ reply }: AccountStep, status: number, page: Page): FastifyReply {
    return sendPage(reply, status, page)
  }

  get #back(): string {
    return this.#room.href('/account')
  }
}

const proposalContext = ({ bound }: AccountStep): string => `second-factor-proposal/${bound}`
