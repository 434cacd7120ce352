import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { AccountSurface } from '../../http/app.ts'
import { sendFailure } from '../pages/failure.ts'
import { readForm } from '../pages/form.ts'
import { sendPage } from '../pages/layout.ts'
import { meterPage } from '../pages/meter-page.ts'
import { findPersonByEmail } from '../people/person.ts'
import { acceptInvitation, type Followed, resetPassword } from './follow-link.ts'
import { deadLinkPage, doneLinkPage, linkPage } from './link-pages.ts'
import { findLink, type OneTimeLink } from './one-time-link.ts'
import { nameFault, passwordFault } from './sent-fields.ts'

type LinkRequest = FastifyRequest<{ Params: { secret: string } }>

/**
 * Adds the page of one-time links. The form needs no token against forged requests: whoever knows the address of the
 * page has the secret already.
 */
export function mountLinks(app: FastifyInstance, { db, clock }: Context, meter: AccountSurface['meter']): void {
  const find = async ({ ip, params }: LinkRequest): Promise<OneTimeLink | null> => {
    await meterPage(meter, ip)
    return findLink(db, params.secret, clock.now())
  }
  const isKnown = async (link: OneTimeLink): Promise<boolean> =>
    link.kind === 'invitation' && (await findPersonByEmail(db, link.email)) !== null

  const show = async (request: LinkRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const link = await find(request)
    return link === null
      ? sendPage(reply, 404, deadLinkPage)
      : sendPage(reply, 200, linkPage(link, await isKnown(link)))
  }

  const follow = async (request: LinkRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const link = await find(request)
    if (link === null) return sendPage(reply, 404, deadLinkPage)
    const form = await readForm(request)
    const name = (form.get('name') ?? '').trim()
    const password = form.get('password') ?? ''
    const known = await isKnown(link)
    const isNew = link.kind === 'invitation' && !known
    const fault = known ? null : ((isNew ? nameFault(name) : null) ?? passwordFault(password, link.email))
    if (fault !== null) return sendPage(reply, 422, linkPage(link, known, fault, name))
    const sent = { secret: request.params.secret, name, password, address: request.ip }
    const followed =
      link.kind === 'invitation'
        ? await acceptInvitation(db, clock, link, sent)
        : await resetPassword(db, clock, link, sent)
    return answer(followed, link, reply)
  }

  const url = '/links/:secret'
  app.get<{ Params: { secret: string } }>(url, { errorHandler: sendFailure }, show)
  app.post<{ Params: { secret: string } }>(url, { errorHandler: sendFailure }, follow)
}

function answer(followed: Followed, link: OneTimeLink, reply: FastifyReply): FastifyReply {
  switch (followed.kind) {
    case 'done':
      return sendPage(reply, 200, doneLinkPage)
    case 'dead':
      return sendPage(reply, 404, deadLinkPage)
    case 'wrong_password':
      return sendPage(reply, 422, linkPage(link, true, 'This is not the password of your account.'))
    case 'account_made': {
      const made = 'An account with this email was made a moment ago. Enter the password of that account.'
      return sendPage(reply, 422, linkPage(link, true, made))
    }
    case 'limited': {
      const { retryAfterSeconds } = followed
      reply.header('retry-after', String(retryAfterSeconds))
      return sendPage(reply, 429, linkPage(link, true, `Too many attempts. Try again in ${retryAfterSeconds} seconds.`))
    }
  }
}
