import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NATIVE_RUNTIME, type RuntimeEntry } from '@berth/core/runtimes/catalog.ts'
import { build } from 'esbuild'

const source = fileURLToPath(new URL('./scripted-agent.ts', import.meta.url))

/** An entry of the configuration file. */
interface ScriptedRuntime {
  readonly id: string
  readonly command: readonly string[]
  readonly mounts?: readonly string[]
  readonly state?: readonly string[]
}

/** Makes the catalog entry that the service makes from the configuration. */
export const entryOf = ({ id, command, mounts = [], state = [] }: ScriptedRuntime): RuntimeEntry => ({
  id,
  name: id,
  command,
  env: {},
  reach: [],
  mounts,
  state,
  stateless: false,
})

/** Catalog entries that run the scripted agent. */
export interface ScriptedRuntimes extends AsyncDisposable {
  /**
   * For `config.runtimes`: `scripted`, one runtime named after each flag of the agent, and `remembering`, whose state
   * is sealed.
   */
  readonly runtimes: readonly ScriptedRuntime[]
}

/** Bundles the scripted agent into a directory that sandboxes can see. */
export async function scriptedRuntimes(): Promise<ScriptedRuntimes> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-agent-'))
  const agent = join(directory, 'agent.js')
  await build({
    entryPoints: [source],
    outfile: agent,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'warning',
  })
  await chmod(directory, 0o755)
  const runtime = (id: string, ...flags: string[]) => ({ id, command: ['node', agent, ...flags], mounts: [directory] })
  const flags = ['silent', 'deaf', 'crash', 'no-load', 'refuse-load']
  return {
    runtimes: [
      runtime('scripted'),
      ...flags.map(flag => runtime(flag, `--${flag}`)),
      { ...runtime('remembering'), state: ['.scripted'] },
      { id: 'missing', command: ['no-such-program'] },
    ],
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

/** Puts the scripted agent in the place of the native one, with a conversation that is sealed. */
export async function nativeStandIn(): Promise<AsyncDisposable & { readonly entry: RuntimeEntry }> {
  const scripted = await scriptedRuntimes()
  const remembering = scripted.runtimes.find(({ id }) => id === 'remembering')
  if (remembering === undefined) throw new Error('no such runtime')
  return { ...scripted, entry: entryOf({ ...remembering, id: NATIVE_RUNTIME }) }
}
