import { randomUUID } from 'node:crypto'
import type { Redactor } from '../../kit/redactor.ts'

/** A fact to append; the log gives it its id, time and sequence. */
export interface EventDraft {
  readonly type: string
  readonly runId?: string
  /** `transcript` events are recovered by paging only; `public` is the default. */
  readonly visibility?: 'public' | 'transcript'
  readonly data: Readonly<Record<string, unknown>>
}

/** The two sides of an envelope's text; the sequence goes between them once the row lock has given it. */
export interface SplitEnvelope {
  readonly head: string
  readonly tail: string
}

/**
 * Serialises an Event (interface 2.13) but for its sequence. This is the only place where an envelope becomes text:
 * pages, streams and webhooks copy the stored bytes. It is also where secrets are masked, so that none enters the log
 * whoever appends.
 */
export function splitEnvelope(draft: EventDraft, sessionId: string, now: Date, redactor: Redactor): SplitEnvelope {
  const head = JSON.stringify({ id: randomUUID(), type: draft.type, createdAt: now })
  const subject = draft.runId === undefined ? { sessionId } : { sessionId, runId: draft.runId }
  const tail = JSON.stringify({
    visibility: draft.visibility ?? 'public',
    subject,
    data: redactor.value(draft.data),
  })
  return { head: `${head.slice(0, -1)},"sequence":`, tail: `,${tail.slice(1)}` }
}
