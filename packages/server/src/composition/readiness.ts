import { NATIVE_RUNTIME, type RuntimeCatalog } from '@berth/core/runtimes/catalog.ts'
import type { Readiness } from '@berth/sandboxes/bubblewrap/pool-options.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { initialize, rehearsal } from '@berth/worker/agent/acp-orders.ts'
import { agentEnvironment } from '@berth/worker/agent/agent-environment.ts'

/** Command of the supervisor inside a sandbox. */
export const supervisorCommand = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`] as const

/** The start of a fresh sandbox of the built-in agent, up to the point at which its Session matters. */
export function readiness(runtimes: RuntimeCatalog): Readiness {
  const native = runtimes.find(NATIVE_RUNTIME)
  if (native === null) throw new Error('the catalog lacks the built-in agent')
  const { command, env, reach } = native
  const variables = { ...agentEnvironment(reach), ...env }
  const { line } = initialize(1)
  const agent = { command, env: variables, cwd: insidePaths.workspace, line, rehearsal: rehearsal() }
  return { command: supervisorCommand, agent }
}
