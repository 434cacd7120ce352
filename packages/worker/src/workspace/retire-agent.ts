import { setTimeout as sleep } from 'node:timers/promises'
import { isNewestWorkSealed } from '@berth/core/checkpoints/checkpoint-sql.ts'
import type { LeaseRow } from '@berth/core/sessions/leases/lease-sql.ts'
import { isKeptAwake } from '@berth/core/sessions/terminals/terminal-sql.ts'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { SandboxDriver } from '@berth/sandboxes/driver.ts'
import { retireAgent } from '@berth/sandboxes/retire-line.ts'
import type { RetireAnswer } from '@berth/supervisor'
import type { ExecutionContext } from '../claim/execution-context.ts'
import { unclaimedToken } from '../claim/hold-sql.ts'
import { freezeAtRest } from './freeze-lease.ts'

/** Time for an agent to end by itself. */
const GRACE_MS = 1_000
/** A supervisor without an answer for so long may have been stopped. */
const LATE_MS = 250
/** Besides the grace: a sandbox that was frozen for long may have to read its pages from disk. */
const PATIENCE_MS = 20_000
/** Before the tries to park: what was killed with an agent may take a moment to go. */
const PAUSES_MS = [0, 50, 500]

/**
 * Ends the agent of a sandbox at rest, whose conversation is sealed; the next Run's worker finds its end in the journal, and
 * starts another that loads the conversation. The sandbox runs for the time of it, without a way out.
 *
 * No lock is held meanwhile, so a Run may begin. Its worker attaches with a higher token: before the order arrives, and the
 * supervisor refuses it; or after, and the supervisor passes nothing on to the agent that ends. The prompt then
 * follows that end in the journal, and is given to the next.
 *
 * If nothing else is left in the sandbox, it is parked then.
 *
 * @returns `kept` if the agent has processes that would end with it; `busy` if the sandbox is not at rest
 */
export async function retireIdleAgent(
  context: ExecutionContext,
  lease: LeaseRow,
  signal: AbortSignal,
): Promise<'ended' | 'kept' | 'busy' | 'unsealed'> {
  const { db, driver, clock } = context
  const key: SessionKey = { organizationId: lease.organization_id, sessionId: lease.session_id }
  if (!(await isNewestWorkSealed(db, key))) return 'unsealed'
  const fence = await db.transaction(async tx => {
    const token = await unclaimedToken(tx, key)
    if (token === null || (await isKeptAwake(tx, lease.id, clock.now()))) return null
    return (await letRun(driver, lease.id)) ? token : 'parked'
  })
  if (fence === 'parked') return 'ended'
  if (fence === null) return 'busy'
  try {
    const within = AbortSignal.any([signal, AbortSignal.timeout(GRACE_MS + PATIENCE_MS)])
    const answer = await endAgent(context, key, lease.id, fence, within)
    if (answer !== 'ended') return answer === 'refused' ? 'busy' : answer
    await park(context, key, lease.id, fence, within)
    return answer
  } finally {
    await freezeAtRest(context, key)
  }
}

/**
 * Has the supervisor end the agent, and lets the sandbox run until it has answered: to a sweeper that goes by it is one at rest
 * that runs, and gets stopped. A Run that has begun meanwhile looks after that itself.
 */
async function endAgent(
  { db, driver }: ExecutionContext,
  key: SessionKey,
  leaseId: string,
  fence: number,
  signal: AbortSignal,
): Promise<RetireAnswer['retired']> {
  const answer = retireAgent(await driver.attach(leaseId, signal), { fence, graceMs: GRACE_MS }, signal)
  for (;;) {
    const answered = await Promise.race([answer, sleep(LATE_MS, null)])
    if (answered !== null) return answered
    await db.transaction(async tx => {
      if ((await unclaimedToken(tx, key)) === fence) await letRun(driver, leaseId)
    })
  }
}

/** Ends a sandbox in which nothing is left, under the row's lock: no Run begins meanwhile, and no terminal. */
async function park(
  { db, driver, clock }: ExecutionContext,
  key: SessionKey,
  leaseId: string,
  fence: number,
  signal: AbortSignal,
): Promise<void> {
  for (const pauseMs of PAUSES_MS) {
    await sleep(pauseMs, undefined, { signal })
    const isOver = await db.transaction(async tx => {
      if ((await unclaimedToken(tx, key)) !== fence || (await isKeptAwake(tx, leaseId, clock.now()))) return true
      // The sweeper may have frozen it meanwhile.
      return !(await letRun(driver, leaseId)) || driver.park(leaseId, fence)
    })
    if (isOver) return
  }
}

/**
 * Lets a sandbox at rest run, under the row's lock.
 * @returns false if another worker of its host has parked it: a thaw would start it again
 */
async function letRun(driver: SandboxDriver, leaseId: string): Promise<boolean> {
  if ((await driver.stateOf(leaseId)) === 'parked') return false
  await driver.thaw(leaseId)
  return true
}
