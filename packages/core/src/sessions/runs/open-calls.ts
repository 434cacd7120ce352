import type { EventDraft } from '../log/envelope.ts'

/** A tool call that the log has begun but not ended, as its Run's row stores it. */
export interface OpenCall {
  readonly activityId: string
  readonly name: string
  readonly kind: string
  readonly title: string
  /** ISO 8601. */
  readonly startedAt: string
  readonly delegationId?: string
  /** It waits for people: their answer ends it, even if its process is gone by then. */
  readonly asks?: boolean
  /** Present only if the call asks. */
  readonly input?: unknown
}

export type CallStatus = 'started' | 'succeeded' | 'failed'

/**
 * Returns the progress Event of a call, without arguments, output, command line, path or title, which may hold any of
 * them.
 */
export function callProgress(
  runId: string,
  { activityId, name, delegationId }: Pick<OpenCall, 'activityId' | 'name' | 'delegationId'>,
  status: CallStatus,
  at: Date,
): EventDraft {
  return {
    type: 'svc.run.progress',
    runId,
    data: {
      activityId,
      category: 'tool',
      name,
      status,
      ...(delegationId !== undefined && { delegationId }),
      occurredAt: at.toISOString(),
    },
  }
}

/** Returns the Events that end a call; `more` is the known part of its input and output. */
export function callEnd(
  runId: string,
  call: Omit<OpenCall, 'asks' | 'input'>,
  status: Exclude<CallStatus, 'started'>,
  at: Date,
  more: Readonly<Record<string, unknown>> = {},
): EventDraft[] {
  const { activityId, name, kind, title, startedAt } = call
  const durationMs = Math.max(0, at.getTime() - Date.parse(startedAt))
  return [
    callProgress(runId, call, status, at),
    {
      type: 'svc.activity.completed',
      runId,
      visibility: 'transcript',
      data: { activityId, name, kind, title, status, ...more, durationMs },
    },
  ]
}

/**
 * Ends the calls whose agent no worker reads any more, from the row: the Run ends without it, or continues in another
 * sandbox.
 * @param answered true if people have answered the calls that ask
 */
export function endOpenCalls(runId: string, calls: readonly OpenCall[], answered: boolean, at: Date): EventDraft[] {
  return calls.flatMap(call => {
    const status = answered && call.asks === true ? 'succeeded' : 'failed'
    return callEnd(runId, call, status, at, call.input === undefined ? {} : { input: call.input })
  })
}
