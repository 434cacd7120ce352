import { setTimeout as sleep } from 'node:timers/promises'
import type { SandboxState } from '../../sandboxes/driver.ts'
import type { ExecutionContext } from './execution-context.ts'

/** The last process gets this long to stop; one inside a system call stops when it leaves the call. */
const STOPPING_MS = 1000
const LOOK_MS = 2

/** Returns the state of a sandbox that was frozen, once all its processes have stopped or have had time to. */
export async function stateOnceStopped(
  { driver }: Pick<ExecutionContext, 'driver'>,
  leaseId: string,
  signal: AbortSignal,
): Promise<SandboxState> {
  for (const deadline = performance.now() + STOPPING_MS; ; ) {
    const state = await driver.stateOf(leaseId)
    if (state !== 'freezing' || performance.now() >= deadline) return state
    await sleep(LOOK_MS, undefined, { signal })
  }
}
