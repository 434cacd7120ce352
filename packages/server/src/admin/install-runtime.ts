import { foreignRuntimes } from '@berth/core/runtimes/foreign/foreign-entries.ts'
import { installRuntime, installsIn } from '@berth/core/runtimes/install-runtime.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { loadSettings } from '@berth/platform/settings/settings.ts'

/**
 * Installs an agent for the service with these settings. A running service finds it within seconds.
 *
 * @returns the exit code; the result is one line on stdout, and a failure one line on stderr
 */
export async function installCommand(
  variables: Readonly<Record<string, string | undefined>>,
  id: string,
): Promise<number> {
  try {
    // The configuration file does not decide where packages are installed.
    const { dataDir } = loadSettings({ ...variables, BERTH_CONFIG: undefined }, () => undefined)
    const runtime = foreignRuntimes.find(known => known.id === id)
    if (runtime === undefined) {
      throw new StartError(`no agent is called ${id}; known are ${foreignRuntimes.map(known => known.id).join(', ')}`)
    }
    const { directory, installed } = await installRuntime(runtime, installsIn(dataDir))
    process.stdout.write(`${runtime.name} ${runtime.version} ${installed ? 'is' : 'was'} installed in ${directory}\n`)
    return 0
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    console.error(`berth: ${error.message}`)
    return 1
  }
}
