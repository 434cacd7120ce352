import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

/**
 * Loads the theme script as a file of its own, before anything is painted: the page's policy allows no inline script,
 * and a module would run only after the first paint.
 */
export function themeScript(): Plugin {
  const source = readFileSync(join(import.meta.dirname, '../src/theme/before-paint.js'), 'utf8')
  const name = `assets/theme-${createHash('sha256').update(source).digest('base64url').slice(0, 8)}.js`
  return {
    name: 'theme-script',
    configureServer(server) {
      server.middlewares.use(`/${name}`, (_request, response) => {
        response.setHeader('content-type', 'text/javascript').end(source)
      })
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: name, source })
    },
    transformIndexHtml: () => [{ tag: 'script', attrs: { src: `/${name}` }, injectTo: 'head-prepend' }],
  }
}
