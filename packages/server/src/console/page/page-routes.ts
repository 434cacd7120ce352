import { randomBytes } from 'node:crypto'
import { pathOf } from '@berth/core/http/request/request-path.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BuiltPage } from './built-page.ts'
import { contentSecurityPolicy, pageHeaders } from './page-headers.ts'
import { sendAsset } from './send-asset.ts'

/** The first segments of the page's own paths; the page reads the rest. */
const pages = [
  'sign-in',
  'signed-out',
  'no-access',
  'sessions',
  'repositories',
  'environments',
  'usage',
  'settings',
  'organization',
  'pull-requests',
  'pulls',
] as const

const config = { page: true } as const

const notBuilt = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>The console is not built</title></head>
<body>
<h1>The console is not built</h1>
<p>This service has no page to show: <code>packages/console/dist</code> is missing. Run <code>npm run build</code> in the checkout of the
service, and start it again. The API is not affected.</p>
</body>
</html>
`

/**
 * Registers the page and its assets. Every path of the page answers the same document; the meaning of the path is the page's
 * to find out, with the browser's own authority.
 *
 * @param built null if the page was not built
 * @param secure whether people reach the page over https
 */
export function registerPageRoutes(app: FastifyInstance, built: BuiltPage | null, secure: () => boolean): void {
  const sendIndex = async (_request: FastifyRequest, reply: FastifyReply) => {
    const nonce = randomBytes(16).toString('base64')
    return reply
      .code(built === null ? 503 : 200)
      .headers({
        ...pageHeaders(secure()),
        'content-security-policy': contentSecurityPolicy(nonce),
        'cache-control': built === null ? 'no-store' : 'no-cache',
      })
      .type('text/html; charset=utf-8')
      .send(built === null ? notBuilt : withNonce(built.index, nonce))
  }
  app.get('/', { config }, sendIndex)
  for (const page of pages) {
    app.get(`/${page}`, { config }, sendIndex)
    app.get(`/${page}/*`, { config }, sendIndex)
  }
  if (built === null) return
  const { assets } = built
  const headers = () => ({ ...pageHeaders(secure()), 'content-security-policy': contentSecurityPolicy(null) })
  app.get('/assets/*', { config }, async (request, reply) => {
    const asset = assets.get(pathOf(request.url))
    if (asset === undefined) throw refusal('unknown_endpoint')
    return sendAsset(request, reply, asset, headers())
  })
  for (const [path, asset] of assets) {
    // Pages beside the console know no hash, so this name is asked about again.
    const hash = /^\/assets\/inter-.*-([\w-]{8})\.woff2$/.exec(path)?.[1]
    if (hash !== undefined) {
      const font = { ...asset, tag: `"${hash}"` }
      app.get('/inter.woff2', { config }, async (request, reply) => sendAsset(request, reply, font, headers()))
    }
    if (path.startsWith('/assets/')) continue
    app.get(path, { config }, async (request, reply) => sendAsset(request, reply, asset, headers()))
  }
}

/** Gives the page the nonce for style elements that its scripts make, where Vite's own helpers look for it as well. */
const withNonce = (index: string, nonce: string): string =>
  index.replace(/<head[^>]*>/i, head => `${head}<meta property="csp-nonce" nonce="${nonce}">`)
