import { queryOf } from '@berth/core/http/request/request-path.ts'
import type { AddressMeter } from '@berth/core/identity/guard/address-meter.ts'
import type { BrowserAuthority, BrowserSession } from '@berth/core/identity/guard/browser-authority.ts'
import { readCookie } from '@berth/core/identity/guard/console-cookie.ts'
import { isUuid } from '@berth/platform/kit/uuid.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type BrowserSignIn, NoSignInUnderWay, type Step } from './browser-sign-in.ts'

/** The messages of the page at `/sign-in?error=…`. */
type Failure = 'busy' | 'expired' | 'refused' | 'unavailable'

/** Dependencies of the routes to a session. */
export interface SignInRoutes {
  readonly signIn: BrowserSignIn
  readonly authority: BrowserAuthority
  readonly meter: Pick<AddressMeter, 'take'>
}

/**
 * Registers the sign-in's two navigations: to the account service, and back from it. Both answer with a redirect in any
 * case, to the page `/sign-in` if something fails, since people read their answers.
 */
export function registerSignInRoutes(app: FastifyInstance, { signIn, authority, meter }: SignInRoutes): void {
  const register = (url: string, step: (request: FastifyRequest) => Promise<Step>) =>
    app.get(url, { config: { page: true } }, async (request, reply) => {
      try {
        const verdict = await meter.take(request.ip)
        if (verdict.kind === 'limited') {
          return fail(reply.header('retry-after', String(verdict.retryAfterSeconds)), 'busy')
        }
        const { url: to, cookie } = await step(request)
        return redirect(reply.header('set-cookie', cookie), to)
      } catch (error) {
        const failure = failureOf(error)
        if (failure === 'unavailable') request.log.warn({ err: error }, 'a sign-in at the console failed')
        else request.log.info({ failure }, 'a sign-in at the console was refused')
        return fail(reply, failure)
      }
    })

  const sessionOf = async (request: FastifyRequest): Promise<BrowserSession | null> => {
    const cookie = readCookie(request.headers.cookie, signIn.sessionCookie.name)
    if (cookie === null) return null
    const verdict = await authority.judge({
      cookie,
      organizationId: null,
      clientAddress: request.ip,
      metered: false,
    })
    return verdict.kind === 'granted' ? verdict.session : null
  }

  register('/cloud/auth/sign-in', async request => {
    const query = new URLSearchParams(queryOf(request.url))
    const organization = query.get('organization') ?? ''
    return signIn.begin({
      returnTo: query.get('return_to'),
      ...(isUuid(organization) && { organization: organization.toLowerCase() }),
      replaces: await sessionOf(request),
    })
  })

  register('/cloud/auth/callback', request =>
    signIn.finish(request.headers.cookie, queryOf(request.url), {
      address: request.ip,
      agent: request.headers['user-agent']?.slice(0, 400) ?? null,
    }),
  )
}

const redirect = (reply: FastifyReply, to: string) =>
  reply.code(303).headers({ location: to, 'referrer-policy': 'no-referrer' }).send()

const fail = (reply: FastifyReply, failure: Failure) => redirect(reply, `/sign-in?error=${failure}`)

/** The account service's own refusals carry a code of OAuth, as does an answer to another challenge. */
function failureOf(error: unknown): Failure {
  if (error instanceof NoSignInUnderWay) return 'expired'
  const { code, error: refused } = Object(error)
  if (refused === 'access_denied' || refused === 'login_required') return 'refused'
  if (code === 'OAUTH_INVALID_RESPONSE' || code === 'OAUTH_RESPONSE_BODY_ERROR' || typeof refused === 'string') {
    return 'expired'
  }
  return 'unavailable'
}
