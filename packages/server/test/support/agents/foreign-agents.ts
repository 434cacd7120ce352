import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { foreignRuntimes } from '../../../src/runtimes/foreign/foreign-entries.ts'
import { installDirectory, installRuntime, installsIn } from '../../../src/runtimes/install-runtime.ts'

/** Kept from run to run: a release is some hundred megabytes, and its lock file says all that is in it. */
const cache = join(import.meta.dirname, '../../../../node_modules/.cache/berth')

/** Those that the tests run; no registry holds the other one. */
const testedAgents = ['opencode', 'codex', 'claude-code', 'gemini']

/** Installs the agents from the registry, where that was not done before. */
export async function installTestedAgents(): Promise<void> {
  await mkdir(cache, { recursive: true })
  for (const runtime of foreignRuntimes.filter(({ id }) => testedAgents.includes(id))) {
    await installRuntime(runtime, installsIn(cache))
  }
}

/** Where one of them is, for what runs it by other means. */
export function testedAgentDirectory(id: string): string {
  const runtime = foreignRuntimes.find(known => known.id === id)
  if (runtime === undefined) throw new Error(`there is no agent ${id}`)
  return installDirectory(installsIn(cache), runtime)
}

/** Lets a service have what is installed. */
export async function linkTestedAgents(dataDir: string): Promise<void> {
  await installTestedAgents()
  await symlink(installsIn(cache), installsIn(dataDir))
}
