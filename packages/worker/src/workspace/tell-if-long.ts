import { randomUUID } from 'node:crypto'
import type { EventData } from '@berth/contract'
import { appendEvents } from '@berth/core/sessions/log/append.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { type Claim, ClaimLost, WorkerStopping } from '../claim/claim.ts'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { underFence } from '../claim/under-fence.ts'

/** Names of the steps for people. */
const titles = {
  fetch_repository: 'Fetching the repository',
  bring_image: "Bringing the environment's image to this host",
  unpack_extensions: "Unpacking the environment's extensions",
  create_sandbox: 'Creating the sandbox',
  place_image: "Copying the environment's image",
  restore: 'Restoring the workspace',
  place_repository: 'Checking out the repository',
  bring_commits: 'Bringing commits into the workspace',
} as const

export type LongStep = keyof typeof titles

/**
 * Does a step that brings a sandbox up. If it has not ended in `tellStepMs`, an Event says that it goes on, and another
 * one that it has ended. Nothing is told of a quick step.
 * @throws whatever `work` throws; what cannot be told fails nothing
 */
export async function tellIfLong<T>(
  context: ExecutionContext,
  claim: Claim,
  step: LongStep,
  work: () => Promise<T>,
): Promise<T> {
  const began = context.clock.now().getTime()
  const stepId = randomUUID()
  const tell = (status: 'started' | 'succeeded' | 'failed') =>
    append(context, claim, {
      ...{ stepId, step, title: titles[step], status },
      ...(status !== 'started' && { durationMs: Math.max(0, context.clock.now().getTime() - began) }),
    })
  let isReported: Promise<boolean> | undefined
  const timer = setTimeout(() => {
    isReported = tell('started')
  }, context.limits.tellStepMs)
  const end = async (status: 'succeeded' | 'failed') => {
    clearTimeout(timer)
    if ((await isReported) === true) await tell(status)
  }
  let result: T
  try {
    result = await work()
  } catch (error) {
    // The step is not over: another worker goes on with it.
    if (error instanceof WorkerStopping || error instanceof ClaimLost) clearTimeout(timer)
    else await end('failed')
    throw error
  }
  await end('succeeded')
  return result
}

/** @returns whether the log has it; the step itself finds out that the claim is lost or the database is away */
async function append(
  context: ExecutionContext,
  claim: Claim,
  data: EventData<'svc.workspace.progress'>,
): Promise<boolean> {
  const run = claim.runId === null ? {} : { runId: claim.runId }
  try {
    await underFence(context, claim, tx =>
      appendEvents(tx, claim, [{ type: 'svc.workspace.progress', ...run, data }], context.clock.now()),
    )
  } catch (error) {
    context.log.info({ err: error, sessionId: claim.sessionId }, 'the progress of a workspace could not be told')
    return false
  }
  context.wakeups.publish(topics.session(claim.organizationId, claim.sessionId))
  return true
}
