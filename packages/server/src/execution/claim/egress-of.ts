import type { RuntimeEntry } from '../../runtimes/catalog.ts'
import type { SandboxEgress } from '../../sandboxes/driver.ts'
import type { ExecutionContext } from './execution-context.ts'

/** Returns what the sandbox of a lease may reach. */
export function egressOf(context: ExecutionContext, leaseId: string, { reach }: RuntimeEntry): SandboxEgress {
  const { gateway, git, publicHosts } = context
  return { reach, publicHosts, gateway: gateway.route(leaseId), service: git.route(leaseId) }
}
