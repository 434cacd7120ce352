import type { Effort, Run } from '@berth/contract'
import { usageMembers } from '../../accounting/cost.ts'
import type { RunStatus } from '../session/phase.ts'
import type { OpenCall } from './open-calls.ts'

export type TerminalStatus = 'completed' | 'failed' | 'cancelled' | 'crashed'

/** How and why a Run ended; the data of its terminal event. */
export interface Outcome {
  readonly status: TerminalStatus
  readonly stopReason?: string
  readonly errorCode?: string
  readonly summary?: string
  /** JSON of the value that the Turn asked for. */
  readonly output?: string
  /** Turns of the agent's own loop, if the agent reports them. */
  readonly turns?: number
}

/** The reason why a Run's log lacks Events, and the `errorCode` of a Run that was ended for it. */
export const EVENT_BUDGET = 'event_budget'

export interface RunRow {
  readonly organization_id: string
  readonly session_id: string
  readonly id: string
  readonly turn_id: string
  readonly status: RunStatus
  readonly runtime: string | null
  readonly model: string | null
  readonly effort: Effort | null
  readonly cancel_requested_at: Date | null
  readonly attempts: number
  readonly handovers: number
  readonly tool_calls: number
  /** Number of Events that its agent has caused, interactions included, and their size. */
  readonly event_count: number
  readonly event_bytes: number
  /** Number of Events left out of the log after the Run had spent its budget of them. */
  readonly dropped_events: number
  /** Tool calls that the log has begun but not ended. */
  readonly open_calls: readonly OpenCall[]
  readonly stop_reason: string | null
  readonly error_code: string | null
  readonly cost_usd: string | null
  readonly cost_complete: boolean | null
  readonly turns: number | null
  readonly usage: Run['usage'] | null
  readonly time: Run['time'] | null
  readonly result: { summary?: string; artifactIds: string[] } | null
  /** JSON of the value that the Turn asked for. */
  readonly output: string | null
  readonly queued_at: Date
  /** When it began to wait for people; null while it does not wait. */
  readonly awaiting_since: Date | null
  /** Time that it waited for people before that; not part of its own time. */
  readonly awaited_ms: number
  readonly started_at: Date | null
  readonly ended_at: Date | null
}

/** Returns the Run resource. */
export function toRun(row: RunRow): Run {
  return {
    id: row.id,
    sessionId: row.session_id,
    turnId: row.turn_id,
    status: row.status,
    cancellationRequested: row.cancel_requested_at !== null,
    attempts: row.attempts,
    ...(row.stop_reason !== null && { stopReason: row.stop_reason }),
    ...(row.error_code !== null && { errorCode: row.error_code }),
    ...(row.cost_usd !== null && { costUsd: Number(row.cost_usd) }),
    ...(row.cost_complete !== null && { costComplete: row.cost_complete }),
    ...(row.turns !== null && { turns: row.turns }),
    ...(row.usage && usageMembers(row.usage)),
    ...(row.time && { time: row.time }),
    ...((row.result !== null || row.output !== null) && {
      result: {
        ...(row.result ?? { artifactIds: [] }),
        ...(row.output !== null && { output: JSON.parse(row.output) }),
      },
    }),
    queuedAt: row.queued_at.toISOString(),
    ...(row.started_at !== null && { startedAt: row.started_at.toISOString() }),
    ...(row.ended_at !== null && { endedAt: row.ended_at.toISOString() }),
  } as Run
}

export const isTerminal = (status: RunStatus): status is TerminalStatus =>
  status === 'completed' || status === 'failed' || status === 'cancelled' || status === 'crashed'
