import type { MasterKey } from '@berth/platform/storage/master-key.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { AccountSurface } from '../../http/app.ts'
import { sendFailure } from '../pages/failure.ts'
import { readForm } from '../pages/form.ts'
import { sendPage } from '../pages/layout.ts'
import { meterPage } from '../pages/meter-page.ts'
import { knownBrowserOf, rememberBrowser } from '../sign-in/known-browser.ts'
import { type Accepted, acceptInvitation } from './accept-invitation.ts'
import { deadLinkPage, doneLinkPage, linkPage, proofPage, unprovenPage } from './link-pages.ts'
import { findLink, type InvitationLink, type OneTimeLink, type ResetLink } from './one-time-link.ts'
import { resetPassword } from './reset-password.ts'
import { passwordFault } from './sent-fields.ts'

type LinkRequest = FastifyRequest<{ Params: { secret: string } }>

interface LinkContext extends Pick<Context, 'db' | 'clock'> {
  readonly masterKey: MasterKey
  readonly authUrl: () => string
}

/**
 * Adds the page of one-time links. The form needs no token against forged requests: whoever knows the address of the
 * page has the secret already.
 */
export function mountLinks(app: FastifyInstance, context: LinkContext, meter: AccountSurface['meter']): void {
  const { db, clock } = context
  const find = async ({ ip, params }: LinkRequest): Promise<OneTimeLink | null> => {
    await meterPage(meter, ip)
    return findLink(db, params.secret, clock.now())
  }

  const show = async (request: LinkRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const link = await find(request)
    return link === null ? sendPage(reply, 404, deadLinkPage) : sendPage(reply, 200, linkPage(link))
  }

  const follow = async (request: LinkRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const link = await find(request)
    if (link === null) return sendPage(reply, 404, deadLinkPage)
    const form = await readForm(request)
    return link.kind === 'reset' ? reset(request, reply, link, form) : accept(request, reply, link, form)
  }

  const reset = async (request: LinkRequest, reply: FastifyReply, link: ResetLink, form: URLSearchParams) => {
    const password = form.get('password') ?? ''
    const fault = passwordFault(password, link.email)
    if (fault !== null) return sendPage(reply, 422, linkPage(link, fault))
    const sent = { secret: request.params.secret, password, address: request.ip }
    const done = await resetPassword(db, clock, link, sent)
    if (done === null) return sendPage(reply, 404, deadLinkPage)
    rememberBrowser(context, request, reply, { personId: link.personId, began: done.began })
    return sendPage(reply, 200, doneLinkPage(link.isFirst && done.ended.linked.length === 0 ? null : done.ended))
  }

  const accept = async (request: LinkRequest, reply: FastifyReply, link: InvitationLink, form: URLSearchParams) => {
    const name = (form.get('name') ?? '').trim()
    const accepted = await acceptInvitation(context, link, {
      secret: request.params.secret,
      name,
      password: form.get('password') ?? '',
      address: request.ip,
      proof: form.get('proof'),
      code: form.get('code') ?? '',
      confirmed: new Set([...form].flatMap(([key, value]) => (value === 'keep' ? [key] : []))),
      browserOf: person => knownBrowserOf(context, request, person),
    })
    if (accepted.kind === 'done') rememberBrowser(context, request, reply, accepted)
    return answer(accepted, link, name, reply)
  }

  const url = '/links/:secret'
  app.get<{ Params: { secret: string } }>(url, { errorHandler: sendFailure }, show)
  app.post<{ Params: { secret: string } }>(url, { errorHandler: sendFailure }, follow)
}

function answer(accepted: Accepted, link: InvitationLink, name: string, reply: FastifyReply): FastifyReply {
  switch (accepted.kind) {
    case 'done':
      return sendPage(reply, 200, doneLinkPage(accepted.ended))
    case 'dead':
      return sendPage(reply, 404, deadLinkPage)
    case 'unproven':
      return sendPage(reply, 409, unprovenPage)
    case 'refused':
      return sendPage(reply, 422, linkPage(link, accepted.fault, name))
    case 'asked': {
      const { proofs, wrong } = accepted
      return sendPage(reply, wrong === null ? 200 : 422, proofPage(link, proofs, wrong))
    }
    case 'limited': {
      const { retryAfterSeconds, proofs } = accepted
      reply.header('retry-after', String(retryAfterSeconds))
      const text = `Too many attempts. Try again in ${retryAfterSeconds} seconds.`
      return sendPage(reply, 429, proofs === null ? linkPage(link, text, name) : proofPage(link, proofs, text))
    }
  }
}
