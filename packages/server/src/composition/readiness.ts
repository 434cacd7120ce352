import { initialize, rehearsal } from '../execution/agent/acp-orders.ts'
import { agentEnvironment } from '../execution/agent/agent-environment.ts'
import { NATIVE_RUNTIME, type RuntimeCatalog } from '../runtimes/catalog.ts'
import type { Readiness } from '../sandboxes/bubblewrap/pool-options.ts'
import { insidePaths } from '../sandboxes/inside-paths.ts'

/** Command of the supervisor inside a sandbox. */
export const supervisorCommand = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`] as const

/** What a fresh sandbox of the built-in agent starts with, up to where its Session matters. */
export function readiness(runtimes: RuntimeCatalog): Readiness {
  const native = runtimes.find(NATIVE_RUNTIME)
  if (native === null) throw new Error('the catalog lacks the built-in agent')
  const { command, env, reach } = native
  const variables = { ...agentEnvironment(reach), ...env }
  const { line } = initialize(1)
  const agent = { command, env: variables, cwd: insidePaths.workspace, line, rehearsal: rehearsal() }
  return { command: supervisorCommand, agent }
}
