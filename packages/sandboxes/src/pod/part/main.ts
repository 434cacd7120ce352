import { mkdirSync } from 'node:fs'
import { insidePaths } from '../../inside-paths.ts'
import { scratchPath } from '../../lease-program.ts'
import { isPartName } from '../part-names.ts'
import { agentCalls } from './agent-calls.ts'
import { assertContainer } from './container-processes.ts'
import { dialHost } from './dial-host.ts'
import { filesCalls } from './files-calls.ts'

/**
 * The program of a pod's containers beside its host, as `pod-agent` starts it. Its one argument names the part: `agent` or
 * `files`.
 */
const [, , part] = process.argv
if (!isPartName(part)) throw new Error('which part of a pod is this? agent or files')
assertContainer()

// With its own process name, it survives an agent's `pkill node`.
process.title = `berth-${part}`
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGXFSZ'] as const) {
  process.on(signal, () => {})
}

const baselines = '/var/lib/berth/baselines'
const calls = () => {
  const { workspace, home, node: nodePath } = insidePaths
  if (part === 'agent') return agentCalls({ workspace, tmp: '/tmp' })
  mkdirSync(baselines, { recursive: true, mode: 0o700 })
  const treePath = `${insidePaths.bundles}/tree.cjs`
  return filesCalls({ workspace, home, scratch: scratchPath, baselines, nodePath, treePath })
}
void dialHost(part, insidePaths.run, calls())
