import { queryOf } from '@berth/core/http/request/request-path.ts'
import type { FastifyInstance } from 'fastify'

/**
 * Registers the navigation by which a Git host sends a browser back. A browser that comes from another site sends no
 * cookie, so nothing is judged here: the page itself finishes, with its cookie and the rules of every request of it. What
 * the host said is in the fragment, which no server and no log sees.
 */
export function registerGitCallback(app: FastifyInstance): void {
  app.get('/cloud/git-connections/callback', { config: { page: true } }, (request, reply) => {
    const given = new URLSearchParams(queryOf(request.url))
    return reply
      .code(303)
      .headers({ location: placeFor(given), 'referrer-policy': 'no-referrer' })
      .send()
  })
}

/** Returns the page for an answer of the host. One about an installation proves nothing: it is not even begun here. */
function placeFor(given: URLSearchParams): string {
  if (given.has('setup_action') || given.has('installation_id')) return '/organization/git?dialog=choose'
  const answer = new URLSearchParams()
  for (const name of ['state', 'code', 'error']) {
    const value = given.get(name)
    if (value !== null) answer.set(name, value.slice(0, 512))
  }
  return `/settings/git-connected#${answer}`
}
