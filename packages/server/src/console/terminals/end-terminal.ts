import {
  endTerminal,
  settleEnd,
  type TerminalEnd,
  type TerminalRow,
} from '@berth/core/sessions/terminals/terminal-sql.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { orderTerminal } from '@berth/sandboxes/terminal-line.ts'
import type { TerminalPlace } from './terminal-place.ts'

/** How long a supervisor may take; the terminal keeper repeats the order to one that does not answer. */
const ORDER_MS = 2_000

/** Ends a terminal for good: its row, whoever looks at it, and its shell. */
export async function closeTerminal(
  { context: { db, clock, wakeups, log }, doors }: TerminalPlace,
  { id, lease_id: leaseId }: Pick<TerminalRow, 'id' | 'lease_id'>,
  reason: TerminalEnd,
): Promise<void> {
  if (!(await endTerminal(db, id, reason, clock.now()))) return
  wakeups.publish(topics.terminal(id))
  try {
    const door = await doors.toLease(db, leaseId)
    // A frozen supervisor answers nothing, and waiting connections would fill its queue.
    if (door === null || (await door.isStopped(leaseId))) return void wakeups.publish(topics.terminals)
    const signal = AbortSignal.timeout(ORDER_MS)
    await orderTerminal(await door.attach(leaseId, signal), { id, end: true }, signal)
    await settleEnd(db, id)
    // The sweeper has a sandbox that nothing keeps awake come to rest.
    wakeups.publish(topics.leases)
  } catch (error) {
    log.debug({ err: error, leaseId }, 'a terminal of a sandbox at rest or gone was ended')
    wakeups.publish(topics.terminals)
  }
}
