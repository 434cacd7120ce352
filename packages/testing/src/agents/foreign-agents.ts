import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { foreignRuntimes } from '@berth/core/runtimes/foreign/foreign-entries.ts'
import { installDirectory, installRuntime, installsIn } from '@berth/core/runtimes/install-runtime.ts'

/** The cache outlives a test run: a release is some hundred megabytes, and its lock file pins all of its content. */
const cache = join(import.meta.dirname, '../../../../node_modules/.cache/berth')

/** Agents that the tests run; no registry has the other one. */
const testedAgents = ['opencode', 'codex', 'claude-code', 'gemini']

/** Installs the agents from the registry, unless the cache has them. */
export async function installTestedAgents(): Promise<void> {
  await mkdir(cache, { recursive: true })
  for (const runtime of foreignRuntimes.filter(({ id }) => testedAgents.includes(id))) {
    await installRuntime(runtime, installsIn(cache))
  }
}

/** Returns the directory of an agent, for a test that runs it without the service. */
export function testedAgentDirectory(id: string): string {
  const runtime = foreignRuntimes.find(known => known.id === id)
  if (runtime === undefined) throw new Error(`there is no agent ${id}`)
  return installDirectory(installsIn(cache), runtime)
}

/** Links the installed agents into the data directory of a service. */
export async function linkTestedAgents(dataDir: string): Promise<void> {
  await installTestedAgents()
  await symlink(installsIn(cache), installsIn(dataDir))
}
