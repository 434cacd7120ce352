import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Directory of the bundles that run inside sandboxes; `npm run build` makes them. */
export function bundlesDirectory(): string {
  return resolve(dirname(fileURLToPath(import.meta.resolve('@berth/supervisor'))), '../dist')
}
