import { pathOf } from '@berth/core/http/request/request-path.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { FastifyInstance } from 'fastify'
import { type Asset, readAssets } from '../page/built-page.ts'
import { pageHeaders } from '../page/page-headers.ts'
import { sendAsset } from '../page/send-asset.ts'

const config = { page: true } as const
const prefix = '/docs'

/** The site has no inline script or style and makes no markup from text, so its policy allows neither. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const notBuilt =
  'This service has no documentation to show: packages/site/dist is missing. Run `npm run build` in the checkout of the service.\n'

/**
 * Registers the documentation's site. Its files are listed at the first request, since most processes are never asked.
 *
 * @param directory where the build puts the site
 * @param secure whether people reach the site over https
 */
export function registerDocsRoutes(app: FastifyInstance, directory: string, secure: () => boolean): void {
  let reading: Promise<ReadonlyMap<string, Asset>> | null = null
  const read = () => {
    reading ??= readAssets(directory).catch(error => {
      reading = null
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map()
      throw error
    })
    return reading
  }
  const headers = () => ({ ...pageHeaders(secure()), 'content-security-policy': policy })
  // Links of the site are relative, so its root ends in a slash.
  app.get(prefix, { config }, (_request, reply) => reply.headers(headers()).redirect(`${prefix}/`, 308))
  app.get(`${prefix}/*`, { config }, async (request, reply) => {
    const files = await read()
    if (files.size === 0) {
      return reply
        .code(503)
        .headers({ ...headers(), 'cache-control': 'no-store' })
        .type('text/plain')
        .send(notBuilt)
    }
    const path = pathOf(request.url).slice(prefix.length)
    const asset = files.get(path.endsWith('/') ? `${path}index.html` : path) ?? files.get(`${path}.html`)
    const lost = files.get('/404.html')
    if (asset === undefined && lost !== undefined && request.headers.accept?.includes('text/html') === true) {
      return sendAsset(request, reply.code(404), { ...lost, tag: null }, { ...headers(), 'cache-control': 'no-store' })
    }
    if (asset === undefined) throw refusal('unknown_endpoint')
    return sendAsset(request, reply, asset, headers())
  })
}
