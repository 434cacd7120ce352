import { releaseVersion } from '@berth/platform/kit/version.ts'
import { NATIVE_RUNTIME, type RuntimeEntry } from './catalog.ts'

/**
 * Returns Berth's own runtimes: the coding agent, and scripts.
 *
 * @param inside paths in a sandbox of Node's binary and of the bundles
 */
export function builtInRuntimes(
  inside: { readonly node: string; readonly bundles: string; readonly engine: string },
  { hasModels }: { readonly hasModels: boolean },
): RuntimeEntry[] {
  const own = { version: releaseVersion, env: {}, reach: [], mounts: [] }
  return [
    {
      ...own,
      id: NATIVE_RUNTIME,
      name: 'Berth',
      command: [inside.node, inside.engine],
      state: ['.berth/sessions'],
      stateless: false,
      steers: true,
      ...(!hasModels && { lacks: 'no model is configured: add a provider to the configuration file' }),
    },
    {
      ...own,
      id: 'shell',
      name: 'Shell',
      command: [inside.node, `${inside.bundles}/shell.js`],
      state: [],
      stateless: true,
      isScript: true,
    },
  ]
}
