import { createHash } from 'node:crypto'
import { cutText, MAX_TEXT_BYTES, TextCollector } from '../events/bounded-text.ts'
import type { EventDraft } from '../events/envelope.ts'
import type { ToolUpdate, Update } from './acp-message.ts'

/** Longest run summary that is kept (interface 8.5); one byte more tells "too long" from "just fits". */
const SUMMARY_BYTES = 100_000

interface OpenMessage {
  readonly role: 'assistant' | 'reasoning'
  readonly agentMessageId: string | undefined
  readonly offset: number
  readonly text: TextCollector
  readonly whole: TextCollector
}

interface OpenCall {
  readonly offset: number
  readonly startedAt: Date
  name: string | undefined
  kind: string
  title: string
  input: unknown
  text: string | undefined
  diffs: ToolUpdate['diffs']
  truncated: boolean
}

/**
 * Folds an agent's updates into transcript and progress events.
 *
 * The fold is deterministic in the journal: read again from `openSince`, it gives the same events for the same
 * records. That is what lets a worker that re-attaches rebuild the state of its dead predecessor without storing it:
 * it replays from the oldest open item and drops what ends at or before the committed offset.
 */
export class Transcript {
  readonly #runId: string
  #message: OpenMessage | null = null
  readonly #calls = new Map<string, OpenCall>()
  #lastAnswer: string | null = null

  constructor(runId: string) {
    this.#runId = runId
  }

  /** Journal offset at which the oldest item that is still open began; undefined when nothing is open. */
  get openSince(): number | undefined {
    let oldest = this.#message?.offset
    for (const call of this.#calls.values()) oldest = Math.min(oldest ?? call.offset, call.offset)
    return oldest
  }

  /** The last whole message of the assistant since this fold began, for the Run's summary. */
  get lastAnswer(): string | null {
    return this.#lastAnswer
  }

  apply(update: Update, offset: number, now: Date): EventDraft[] {
    if (update.kind === 'other') return []
    if (update.kind === 'tool') return [...this.#endMessage(), ...this.#tool(update.call, offset, now)]
    const open = this.#message
    const continues = open !== null && open.role === update.role && open.agentMessageId === update.messageId
    const ended = continues ? [] : this.#endMessage()
    this.#message ??= {
      role: update.role,
      agentMessageId: update.messageId,
      offset,
      text: new TextCollector(),
      whole: new TextCollector(update.role === 'assistant' ? SUMMARY_BYTES + 1 : 0),
    }
    this.#message.text.append(update.text)
    this.#message.whole.append(update.text)
    return ended
  }

  /** Ends what is open, when the agent has stopped: a tool call without an end has failed. */
  close(now: Date): EventDraft[] {
    const drafts = this.#endMessage()
    for (const [id, call] of this.#calls) drafts.push(...this.#endCall(id, call, 'failed', now))
    return drafts
  }

  #endMessage(): EventDraft[] {
    const message = this.#message
    this.#message = null
    if (message === null || message.text.text === '') return []
    if (message.role === 'assistant') this.#lastAnswer = message.whole.text
    return [
      this.#transcript('svc.message.created', {
        messageId: this.#id('message', message.offset),
        role: message.role,
        text: message.text.text,
        ...(message.text.truncated && { truncated: true }),
      }),
    ]
  }

  #tool(update: ToolUpdate, offset: number, now: Date): EventDraft[] {
    const drafts: EventDraft[] = []
    let call = this.#calls.get(update.id)
    if (call === undefined) {
      call = {
        offset,
        startedAt: now,
        name: undefined,
        kind: 'other',
        title: '',
        input: undefined,
        text: undefined,
        diffs: undefined,
        truncated: false,
      }
      this.#calls.set(update.id, call)
      merge(call, update)
      drafts.push(this.#progress(update.id, call, 'started', now))
    } else {
      merge(call, update)
    }
    if (update.status === 'completed' || update.status === 'failed') {
      drafts.push(...this.#endCall(update.id, call, update.status === 'completed' ? 'succeeded' : 'failed', now))
    }
    return drafts
  }

  #endCall(id: string, call: OpenCall, status: 'succeeded' | 'failed', now: Date): EventDraft[] {
    this.#calls.delete(id)
    const output = call.text === undefined ? null : cutText(call.text)
    const title = cutText(call.title, 1024)
    let truncated = call.truncated || output?.truncated === true || title.truncated
    const diff = call.diffs?.map(({ path, oldText, newText }) => {
      const before = cutText(oldText)
      const after = cutText(newText)
      truncated ||= before.truncated || after.truncated
      return { path, oldText: before.text, newText: after.text }
    })
    // An input that does not fit is left out whole: half a JSON value says something else than the whole.
    const input = fits(call.input) ? call.input : undefined
    truncated ||= input === undefined && call.input !== undefined
    return [
      this.#progress(id, call, status, now),
      this.#transcript('svc.activity.completed', {
        activityId: this.#id('activity', id),
        name: nameOf(call),
        kind: call.kind,
        title: title.text,
        status,
        ...(input !== undefined && { input }),
        ...(output !== null && { output: output.text }),
        ...(diff !== undefined && { diff }),
        ...(truncated && { truncated: true }),
        durationMs: Math.max(0, now.getTime() - call.startedAt.getTime()),
      }),
    ]
  }

  /** Says nothing of arguments, output, command line or path (interface 6.4): a title may hold any of them. */
  #progress(id: string, call: OpenCall, status: string, now: Date): EventDraft {
    return {
      type: 'svc.run.progress',
      runId: this.#runId,
      data: {
        activityId: this.#id('activity', id),
        category: 'tool',
        name: nameOf(call),
        status,
        occurredAt: now.toISOString(),
      },
    }
  }

  #transcript(type: string, data: Record<string, unknown>): EventDraft {
    return { type, runId: this.#runId, visibility: 'transcript', data }
  }

  /** Ids of messages and activities follow from the journal, so that a replay gives the same ones. */
  #id(kind: string, seed: number | string): string {
    const digest = createHash('sha256').update(`${this.#runId}/${kind}/${seed}`).digest('hex')
    const variant = ((Number.parseInt(digest[16] ?? '0', 16) & 0x3) | 0x8).toString(16)
    return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-${variant}${digest.slice(17, 20)}-${digest.slice(20, 32)}`
  }
}

function merge(call: OpenCall, update: ToolUpdate): void {
  call.name = update.name ?? call.name
  call.kind = update.kind ?? call.kind
  call.title = update.title ?? call.title
  call.input = update.input ?? call.input
  call.text = update.text ?? call.text
  call.diffs = update.diffs ?? call.diffs
  call.truncated ||= update.truncated
}

/** The tool's own name where the agent gives one that is a name, else its kind. */
function nameOf(call: OpenCall): string {
  return call.name !== undefined && /^[\w.:-]{1,128}$/.test(call.name) ? call.name : call.kind
}

function fits(value: unknown): boolean {
  return value !== undefined && Buffer.byteLength(JSON.stringify(value)) <= MAX_TEXT_BYTES
}
