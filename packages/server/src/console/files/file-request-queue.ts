import { inspectTree, type PathRange, type Seen } from '@berth/core/checkpoints/inspect-tree.ts'
import type { DeliveryContext } from '@berth/core/delivery/delivery-context.ts'
import type { WorkQueue } from '@berth/core/delivery/work-queue.ts'
import { HostNotHeld, type LeasePlace } from '@berth/core/hosts/hosts.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { treeOf } from '@berth/sandboxes/tree.ts'
import { claimedFileRequests, type FileRequestRow } from './file-request-sql.ts'
import { inspectBase } from './inspect-base.ts'

/** A program of its own does each look, and the machine's agents need its cores too. */
const AT_ONCE = 4
const PATIENCE_MS = 10_000

/** Offers looks at files to the workers beside their sandboxes. A frozen sandbox stays frozen. */
export function fileRequestQueue(context: DeliveryContext): WorkQueue {
  const { db, hosts, clock, wakeups } = context
  return {
    name: 'file-requests',
    concurrency: AT_ONCE,
    claim: async (by, limit) =>
      (await claimedFileRequests.claim<{ host: string | null }>(db, by, limit, [hosts.ids()])).map(row => ({
        renew: until => claimedFileRequests.renew(db, row.claim, until),
        work: async signal => {
          const { lease_id: leaseId, host } = row
          const seen =
            leaseId === null || host === null
              ? await atBase(context, row, signal)
              : await inspect(context, { leaseId, host }, row, signal)
          await claimedFileRequests.release(db, row.claim, {
            answered_at: clock.now(),
            answer: seen === null ? null : JSON.stringify({ ...seen, content: undefined }),
            content: seen?.found === 'file' ? seen.content : null,
          })
          wakeups.publish(topics.files(row.organization_id, row.session_id))
        },
      })),
  }
}

/** Returns null if the sandbox cannot be looked at. */
async function inspect(
  context: DeliveryContext,
  { leaseId, host }: LeasePlace,
  row: FileRequestRow,
  signal: AbortSignal,
): Promise<Seen | null> {
  try {
    const late = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
    return await inspectTree(
      treeOf(context.hosts.of(host).driver, leaseId, 'workspace'),
      JSON.parse(row.request) as PathRange,
      late,
    )
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof SandboxGoneError || error instanceof HostNotHeld)) {
      context.log.warn({ err: error, leaseId }, 'files of a workspace could not be read')
    }
    return null
  }
}

/** Returns null if the repository cannot be read. This machine fetches the commit first if it does not have it. */
async function atBase(context: DeliveryContext, row: FileRequestRow, signal: AbortSignal): Promise<Seen | null> {
  try {
    const source = await context.sources.find({ organizationId: row.organization_id, sessionId: row.session_id })
    if (source === null || source === 'revoked') return null
    const gitDir = await context.sources.mirror(source, signal)
    const late = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)])
    return await inspectBase({ gitDir, oid: source.baseOid }, JSON.parse(row.request) as PathRange, late)
  } catch (error) {
    signal.throwIfAborted()
    context.log.warn({ err: error, sessionId: row.session_id }, 'the base of a repository could not be read')
    return null
  }
}
