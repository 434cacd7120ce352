import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import { originOf } from '@berth/platform/settings/web-url.ts'
import { getDomain } from 'tldts'
import type { PreviewDomain } from '../console/ports/preview-host.ts'

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

/**
 * Browsers share cookies and storage within a site, which is all names below one registrable domain.
 * @throws StartError if previews would share a site with the console
 */
export function requireOwnPreviewSite({ console, urls }: Settings): void {
  const domain = console.previewDomain?.replace(/:\d+$/, '')
  if (domain === undefined) return
  for (const url of [urls.consoleUrl, urls.authUrl, urls.baseUrl]) {
    if (siteOf(new URL(url).hostname) === siteOf(domain)) {
      throw new StartError(`BERTH_PREVIEW_DOMAIN (${domain}) and ${url} share a site: previews need another domain`)
    }
  }
}

/** Returns the registrable domain of a name; the name itself if it has none, as an address. */
const siteOf = (name: string): string => getDomain(name, { allowPrivateDomains: true }) ?? name
