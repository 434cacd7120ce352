import { join } from 'node:path'
import { packagesDirectory } from '@berth/platform/kit/package-files.ts'

/** Directory of the bundles that run inside sandboxes; `npm run build` makes them. */
export function bundlesDirectory(): string {
  return join(packagesDirectory, 'supervisor/dist')
}
