import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

/** Serves the service worker at a path that never changes, at the root: a worker reaches the pages below its own path. */
export function pushWorker(): Plugin {
  const source = readFileSync(join(import.meta.dirname, '../src/notifications/push-worker.js'), 'utf8')
  return {
    name: 'push-worker',
    configureServer(server) {
      server.middlewares.use('/push-worker.js', (_request, response) => {
        response.setHeader('content-type', 'text/javascript').end(source)
      })
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'push-worker.js', source })
    },
  }
}
