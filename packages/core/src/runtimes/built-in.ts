import { releaseVersion } from '@berth/platform/kit/version.ts'
import { DEMO_RUNTIME, NATIVE_RUNTIME, type RuntimeEntry } from './catalog.ts'

/**
 * Returns Berth's own runtimes: the coding agent, scripts, and a demonstration that needs no model.
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
    {
      ...own,
      id: DEMO_RUNTIME,
      name: 'Demonstration',
      command: [inside.node, `${inside.bundles}/demonstration.js`],
      state: [],
      stateless: true,
    },
  ]
}
