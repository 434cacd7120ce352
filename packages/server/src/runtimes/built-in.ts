import { NATIVE_RUNTIME, type RuntimeEntry } from './catalog.ts'

/** Version of the service, and of the runtimes that come with it. */
const VERSION = '1.0.0'

/**
 * The runtimes of ours (completions, Session): the coding agent, and scripts.
 * @param inside where sandboxes find Node's binary and the bundles
 */
export function builtInRuntimes(
  inside: { readonly node: string; readonly bundles: string },
  { hasModels }: { readonly hasModels: boolean },
): RuntimeEntry[] {
  const own = { version: VERSION, env: {}, reach: [], mounts: [] }
  return [
    {
      ...own,
      id: NATIVE_RUNTIME,
      name: 'Berth',
      command: [inside.node, `${inside.bundles}/engine.cjs`],
      state: ['.berth/sessions'],
      stateless: false,
      ...(!hasModels && { lacks: 'no model is configured: add a provider to the configuration file' }),
    },
    {
      ...own,
      id: 'shell',
      name: 'Shell',
      command: [inside.node, `${inside.bundles}/shell.js`],
      state: [],
      stateless: true,
    },
  ]
}
