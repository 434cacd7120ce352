import type { PreviewDomain } from '../console/ports/preview-host.ts'
import { StartError } from '../kit/start-error.ts'
import type { Settings } from '../settings/settings.ts'
import { originOf } from '../settings/web-url.ts'

/**
 * Returns where previews are served: below the domain that the operator set; on loopback, if the console is served there
 * as well, below `localhost`, since browsers keep its names apart as sites of their own.
 * @returns null if previews have no place
 */
export function previewDomain({ console, listener, urls }: Settings): PreviewDomain | null {
  if (console.previewDomain !== undefined) return { scheme: 'https', host: console.previewDomain }
  const isOwn = urls.consoleUrl === originOf(listener.host, listener.port)
  return listener.loopback && isOwn ? { scheme: 'http', host: `localhost:${listener.port}` } : null
}

/** @throws StartError if what agents serve would share a site with the console, and so its cookies */
export function requireOwnPreviewSite({ console, urls }: Settings): void {
  const domain = console.previewDomain?.replace(/:\d+$/, '')
  if (domain === undefined) return
  for (const url of [urls.consoleUrl, urls.authUrl, urls.baseUrl]) {
    const { hostname } = new URL(url)
    if (hostname === domain || hostname.endsWith(`.${domain}`) || domain.endsWith(`.${hostname}`)) {
      throw new StartError(`BERTH_PREVIEW_DOMAIN (${domain}) and ${url} share a site: previews need another domain`)
    }
  }
}
