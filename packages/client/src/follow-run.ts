import { followSession } from './follow.ts'
import type { FollowOptions } from './follow-options.ts'
import type { Event } from './generated/types.ts'

const terminalTypes: ReadonlySet<string> = new Set([
  'svc.run.completed',
  'svc.run.failed',
  'svc.run.cancelled',
  'svc.run.crashed',
])

/** Returns true if the Event ends its Run; exactly one such Event ends any Run. */
export function isTerminalRunEvent(event: Event): boolean {
  return terminalTypes.has(event.type)
}

/** Options of `followRun`. `after` must lie before the Run's terminal Event, or the follower never sees the end. */
export interface FollowRunOptions extends Omit<FollowOptions, 'until'> {
  readonly runId: string
}

/**
 * Follows one Run to its end. Yields its Events and those of the Session that belong to no Run. The terminal Event
 * comes last and is also the return value, which is null only if `signal` aborted first.
 */
export async function* followRun(options: FollowRunOptions): AsyncGenerator<Event, Event | null, undefined> {
  const { runId, ...follow } = options
  for await (const event of followSession(follow)) {
    if (event.subject.runId !== undefined && event.subject.runId !== runId) continue
    yield event
    if (event.subject.runId === runId && isTerminalRunEvent(event)) return event
  }
  return null
}
