import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import type { RunRow } from '@berth/core/sessions/runs/run.ts'
import type { Reading } from '../agent/agent-conversation.ts'
import type { Spent } from '../claim/progress-sql.ts'

/** Bounds of the Events that one Run's agent may append. */
export interface EventBounds {
  readonly events: number
  /** Bytes of envelopes and of requests to people. A reading that exceeds them is kept to its end. */
  readonly bytes: number
}

/**
 * The budget of Events of one Run. The Run's row stores the amount spent, so the budget holds over takeovers and
 * attempts.
 *
 * Once the budget is spent, only the ends of tool calls that the log has begun are kept, without their content.
 */
export class EventBudget {
  readonly #bounds: EventBounds
  #events: number
  #bytes: number
  #over: boolean
  /** Events that were left out and not recorded yet. */
  #dropped = 0
  /** Tool calls whose beginning is in the log. Null while the log has every beginning but those in `#untold`. */
  readonly #reported: ReadonlySet<string> | null
  readonly #omitted = new Set<unknown>()

  constructor(bounds: EventBounds, run: Pick<RunRow, 'event_count' | 'event_bytes' | 'dropped_events' | 'open_calls'>) {
    this.#bounds = bounds
    this.#events = run.event_count
    this.#bytes = run.event_bytes
    this.#over = run.dropped_events > 0
    this.#reported = this.#over ? new Set(run.open_calls.map(({ activityId }) => activityId)) : null
  }

  get isSpent(): boolean {
    return this.#over || this.#events >= this.#bounds.events || this.#bytes >= this.#bounds.bytes
  }

  /** Returns the part of a reading that the budget admits. */
  admit(reading: Reading): Reading {
    const { drafts, requests, openCalls } = reading
    let room = this.isSpent ? 0 : this.#bounds.events - this.#events
    if (drafts.length + requests.length <= room || drafts.length + requests.length === 0) {
      return { ...reading, dropped: this.#dropped }
    }
    this.#over = true
    const kept: EventDraft[] = []
    for (const draft of drafts) {
      const fits = room > 0
      if (this.#endsReported(draft)) kept.push(fits ? draft : withoutContent(draft))
      else if (fits && !this.#omitted.has(draft.data['activityId'])) kept.push(draft)
      else this.#drop(draft)
      room -= 1
    }
    this.#dropped += requests.length
    return {
      ...reading,
      drafts: kept,
      requests: [],
      openCalls: openCalls?.filter(({ activityId }) => this.#isReported(activityId)) ?? null,
      dropped: this.#dropped,
    }
  }

  /** Counts the recorded part of a reading. */
  spend({ events, bytes }: Spent): void {
    this.#events += events
    this.#bytes += bytes
    this.#dropped = 0
  }

  #drop({ data }: EventDraft): void {
    this.#dropped += 1
    if (data['status'] === 'started') this.#omitted.add(data['activityId'])
  }

  #endsReported({ type, data }: EventDraft): boolean {
    const ends = type === 'svc.activity.completed' || (type === 'svc.run.progress' && data['status'] !== 'started')
    return ends && this.#isReported(data['activityId'])
  }

  #isReported(activityId: unknown): boolean {
    return this.#reported === null ? !this.#omitted.has(activityId) : this.#reported.has(String(activityId))
  }
}

function withoutContent(draft: EventDraft): EventDraft {
  if (draft.type !== 'svc.activity.completed') return draft
  const { input: _input, output: _output, diff: _diff, ...data } = draft.data
  return { ...draft, data: { ...data, truncated: true } }
}
