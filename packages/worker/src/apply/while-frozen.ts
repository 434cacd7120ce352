import { setTimeout as sleep } from 'node:timers/promises'
import type { SandboxState } from '@berth/sandboxes/driver.ts'
import { type ExecutionContext, egressOf } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'
import type { ApplyParts } from './apply-parts.ts'

/**
 * Does work while every process of the sandbox stands still, also what setup left running: no file is then saved half
 * written. If this worker is stopped meanwhile, the one that goes on resumes the sandbox.
 *
 * @throws ClaimLost before it resumes a sandbox that another worker may be saving now; whatever `work` throws
 */
export async function whileFrozen<T>(
  { context, claim, lease, runtime }: Pick<ApplyParts, 'context' | 'claim' | 'lease' | 'runtime'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const { driver } = context
  // Under the fence: a worker that has lost its claim must not stop the sandbox of another.
  await underFence(context, claim, () => driver.freeze(lease.id))
  try {
    const state = await stateOnceStopped(context, lease.id, signal)
    if (state !== 'frozen') throw new Error(`the sandbox is ${state}, and cannot be saved`)
    return await work()
  } finally {
    if (!signal.aborted) {
      const egress = await egressOf(context, lease, runtime)
      await underFence(context, claim, async () => {
        await driver.serveProxy(lease.id, egress)
        await driver.thaw(lease.id)
      })
    }
  }
}

/** The last process gets this long to stop; one inside a system call stops when it leaves the call. */
const STOPPING_MS = 1000
const POLL_MS = 2

/** Returns the state of a sandbox that was frozen, once all its processes have stopped or have had time to. */
export async function stateOnceStopped(
  { driver }: Pick<ExecutionContext, 'driver'>,
  leaseId: string,
  signal: AbortSignal,
): Promise<SandboxState> {
  for (const deadline = performance.now() + STOPPING_MS; ; ) {
    const state = await driver.stateOf(leaseId)
    if (state !== 'freezing' || performance.now() >= deadline) return state
    await sleep(POLL_MS, undefined, { signal })
  }
}
