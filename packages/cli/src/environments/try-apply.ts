import { type BerthClient, BerthError, type Event, followSession } from '@berth/client'
import { noticeOf } from '../commands/interruption-notice.ts'
import { textOf } from '../event-data.ts'
import { isApplyEnd, isOfApply } from './apply-log.ts'

export interface Trial {
  readonly client: BerthClient
  readonly sessionId: string
  readonly signal: AbortSignal
  /** Called with each Event of the apply, the last one included. */
  readonly show: (event: Event) => Promise<void>
  readonly notice: (text: string) => Promise<void>
}

/**
 * Has the workspace of a Session made, and follows the apply of its environment to the end. It follows the first
 * sandbox only.
 * @returns the Event that ends the apply; null if `signal` aborted first
 */
export async function tryApply({ client, sessionId, signal, show, notice }: Trial): Promise<Event | null> {
  const started = new AbortController()
  const failed = new AbortController()
  let fault: unknown = null
  const asked = askForWorkspace(client, sessionId, AbortSignal.any([signal, started.signal])).catch(failure => {
    if (signal.aborted || started.signal.aborted) return
    fault = failure
    failed.abort()
  })
  const events = followSession({
    client,
    sessionId,
    signal: AbortSignal.any([signal, failed.signal]),
    onInterruption: interruption => {
      const text = noticeOf(interruption)
      if (text !== null) notice(text).catch(() => {})
    },
  })
  let leaseId: string | null = null
  for await (const event of events) {
    if (!isOfApply(event)) continue
    // The apply goes on by itself. Asking on would make a second sandbox once this one has failed.
    started.abort()
    leaseId ??= textOf(event, 'leaseId')
    if (textOf(event, 'leaseId') !== leaseId) continue
    await show(event)
    if (isApplyEnd(event)) return event
  }
  await asked
  if (fault !== null) throw fault
  return null
}

/** Asks until the workspace is attached: each call waits a while, and the sandbox may take longer. */
async function askForWorkspace(client: BerthClient, sessionId: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await client.sessions.restoreWorkspace(sessionId, { signal })
      return
    } catch (failure) {
      if (!(failure instanceof BerthError) || failure.code !== 'cloud_workspace_starting') throw failure
    }
  }
}
