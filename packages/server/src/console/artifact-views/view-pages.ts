import type { ArtifactViewKind } from '@berth/contract'
import { attachment } from '@berth/core/sessions/artifacts/artifact.ts'

/** Headers of everything at the host of a view. */
const shared = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-DNS-Prefetch-Control': 'off',
  // For browsers that know it: no connection to anywhere, by any API.
  'Connection-Allowlist': '()',
} as const

const policy = (directives: Readonly<Record<string, string>>): string =>
  Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')

/** The content of a frame. */
interface FramedArtifact {
  readonly name: string
  readonly kind: ArtifactViewKind
  readonly isScripted: boolean
  /** Where the content is, at the same host. */
  readonly contentPath: string
}

/**
 * Returns the page that frames an artifact, which has no script. Its policy keeps the frame in place: a document
 * cannot be forbidden to navigate itself, and so to tell another host something, but its frame can be.
 */
export function framePage(
  origin: string,
  { name, kind, isScripted, contentPath }: FramedArtifact,
): { readonly headers: Readonly<Record<string, string>>; readonly page: string } {
  const shown = escaped(name.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '�'))
  // Chromium refuses its PDF viewer to a frame with the attribute, but not to a response with the same policy.
  const attribute = kind === 'html' ? ` sandbox="${isScripted ? 'allow-scripts' : ''}"` : ''
  const notice = isScripted
    ? 'Made by an agent, shown in a sandbox: it reaches neither the network nor your account.'
    : 'Made by an agent, shown in a sandbox. Its scripts are off, because it holds frames of its own.'
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${shown}</title>
<style>
:root{color-scheme:light dark}
body{margin:0;height:100vh;height:100dvh;display:flex;flex-direction:column;font:13px/1.4 system-ui,sans-serif;background:Canvas;color:CanvasText}
header{display:flex;flex-wrap:wrap;align-items:baseline;gap:.125rem .75rem;padding:.625rem 1rem;border-bottom:1px solid color-mix(in srgb,CanvasText 18%,Canvas)}
h1{font-size:13px;margin:0;max-width:100%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
p{margin:0;color:color-mix(in srgb,CanvasText 72%,Canvas)}
iframe{flex:1;border:0;width:100%;min-height:0;background:#fff;color-scheme:light}
</style></head>
<body><header><h1>${shown}</h1><p>${notice}</p></header>
<iframe title="${shown}"${attribute} allow="" referrerpolicy="no-referrer" src="${contentPath}"></iframe></body></html>
`
  return {
    page,
    headers: {
      ...shared,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(page)),
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Connection-Allowlist': '(response-origin)',
      'Content-Security-Policy': policy({
        'default-src': "'none'",
        'style-src': "'unsafe-inline'",
        'frame-src': origin,
        'base-uri': "'none'",
        'form-action': "'none'",
        'frame-ancestors': "'none'",
      }),
    },
  }
}

/** Returns the headers of an artifact's content: an origin of its own that nothing shares, and nothing to load. */
export function contentHeaders(
  origin: string,
  { name, kind, isScripted }: Omit<FramedArtifact, 'contentPath'>,
): Readonly<Record<string, string>> {
  const local = 'data: blob:'
  return {
    ...shared,
    'Content-Type': kind === 'html' ? 'text/html; charset=utf-8' : 'application/pdf',
    'Content-Disposition': attachment(name).replace('attachment', 'inline'),
    'Content-Security-Policy': policy({
      sandbox: isScripted ? 'allow-scripts' : '',
      'default-src': "'none'",
      ...(kind === 'html' && {
        'script-src': isScripted ? "'unsafe-inline' 'unsafe-eval' blob:" : "'none'",
        'worker-src': 'blob:',
        'style-src': `'unsafe-inline' ${local}`,
        'img-src': local,
        'media-src': local,
        'font-src': local,
        'require-trusted-types-for': "'script'",
        'trusted-types': 'default',
      }),
      'connect-src': "'none'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': origin,
    }),
  }
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, character => entities[character] ?? '')
