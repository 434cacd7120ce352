import { randomUUID } from 'node:crypto'
import type { EventVisibility } from '@berth/contract'
import type { Redactor } from '@berth/platform/kit/redactor.ts'

/** A fact to append; the log gives it its id, time and sequence. */
export interface EventDraft {
  readonly type: string
  readonly runId?: string
  /** `public` is the default. */
  readonly visibility?: EventVisibility
  readonly data: Readonly<Record<string, unknown>>
}

/** The two sides of an envelope's text; the row lock supplies the sequence between them. */
export interface SplitEnvelope {
  readonly head: string
  readonly tail: string
}

/**
 * Serialises an Event except its sequence. Only this function turns an envelope into text: pages, streams and webhooks
 * copy the stored bytes. It also masks secrets, so none enters the log, whoever appends.
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
