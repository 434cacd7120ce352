import type { ToolKind } from '@agentclientprotocol/sdk'
import { MaskedCollector, storable, TextCollector } from '@berth/core/sessions/log/bounded-text.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import type { Preview } from '@berth/core/sessions/previews/preview.ts'
import { callEnd, callProgress, type OpenCall } from '@berth/core/sessions/runs/open-calls.ts'
import { type MaskingStream, ownCredentials, type Redactor } from '@berth/platform/kit/redactor.ts'
import { digestId } from '@berth/platform/kit/uuid.ts'
import type { ToolUpdate, Update } from './acp-message.ts'
import type { PromptOf } from './acp-orders.ts'
import { boundInput } from './bounded-activity.ts'
import { MAX_SUMMARY_BYTES } from './prompt-outcome.ts'

/** An agent may begin calls and never end them. Beyond this many, the one named longest ago counts as failed. */
const MAX_OPEN_CALLS = 256
/** UTF-16 units of the output and the diffs of all open calls; the excess is left out. */
const MAX_OPEN_LENGTH = 16 * 1024 * 1024
const MAX_KEPT_INPUT_BYTES = 4096

/** The assistant's last message: its text, or its size if it is longer than a summary may be. */
export type LastAnswer = string | { readonly sizeBytes: number }

interface OpenMessage {
  readonly role: 'assistant' | 'reasoning'
  readonly agentMessageId: string | undefined
  readonly offset: number
  /** Masks incoming text before it is cut, however the agent divides it. */
  readonly masking: MaskingStream
  readonly text: TextCollector
  /** Collects the message for the Run's summary, which has another bound. */
  readonly whole: TextCollector
}

interface CallInFold {
  readonly offset: number
  readonly startedAt: Date
  name: string | undefined
  kind: ToolKind
  title: string
  input: unknown
  text: string | undefined
  printed: MaskedCollector | null
  result: ToolUpdate['result']
  diffs: ToolUpdate['diffs']
  delegationId: string | undefined
  truncated: boolean
  asks: boolean
}

/** The known state of a tool call that has not ended. */
export interface KnownCall {
  readonly activityId: string
  readonly toolName: string
  readonly kind: ToolKind
  readonly title: string
  readonly input: unknown
  readonly text: string | undefined
  readonly truncated: boolean
}

/**
 * Folds an agent's updates into transcript and progress events.
 *
 * The fold is deterministic in the journal: read again from `openSince`, it gives the same events for the same records.
 * So a worker that re-attaches rebuilds the state of its dead predecessor without storing it. It replays from the
 * oldest open item, and drops events that end at or before the committed offset. No rule here may depend on anything
 * that was over before an open item began.
 */
export class Transcript {
  readonly #of: PromptOf
  readonly #redactor: Redactor
  readonly #maxOpenCalls: number
  #message: OpenMessage | null = null
  /** Ordered by their last beginning, so that a fold that starts later orders them the same way. */
  readonly #calls = new Map<string, CallInFold>()
  #openLength = 0
  #lastAnswer: LastAnswer | null = null
  #answeredAt: Date | null = null

  /** @param redactor the Session's, which masks every secret that the sandbox was given */
  constructor(of: PromptOf, maxOpenCalls: number = MAX_OPEN_CALLS, redactor: Redactor = ownCredentials) {
    this.#of = of
    this.#redactor = redactor
    this.#maxOpenCalls = maxOpenCalls
  }

  /** Journal offset at which the oldest open item began; undefined if nothing is open. */
  get openSince(): number | undefined {
    let oldest = this.#message?.offset
    for (const call of this.#calls.values()) oldest = Math.min(oldest ?? call.offset, call.offset)
    return oldest
  }

  /** The assistant's last message that has ended in this fold, for the Run's summary. */
  get lastAnswer(): LastAnswer | null {
    return this.#lastAnswer
  }

  /** When the agent wrote the end of its answer; null if it has thought or called a tool since, or said nothing yet. */
  get answeredAt(): Date | null {
    return this.#answeredAt
  }

  /** Returns a tool call that has not ended, by the agent's id for it. */
  callOf(id: string): KnownCall | null {
    const call = this.#calls.get(id)
    if (call === undefined) return null
    const { kind, title, text, truncated } = call
    const input = this.#redactor.value(call.input)
    return { activityId: this.#activityId(call), toolName: nameOf(call), kind, title, input, text, truncated }
  }

  /** The calls that have not ended, oldest first, as the Run's row keeps them. */
  get openCalls(): OpenCall[] {
    return [...this.#calls.values()].map(call => {
      const { value: input } = call.asks ? boundInput(call.input, MAX_KEPT_INPUT_BYTES) : { value: undefined }
      return {
        ...this.#describe(call),
        ...(call.asks && { asks: true }),
        ...(input !== undefined && { input: this.#redactor.value(input) }),
      }
    })
  }

  /** What the agent is saying and doing at this moment, masked. Text that may still become a secret is held back. */
  get preview(): Preview {
    const message = this.#message
    if (message !== null) collect(message, message.masking.settled())
    return {
      ...(message !== null &&
        message.text.text !== '' && {
          message: {
            messageId: this.#id('message', message.offset),
            role: message.role,
            text: storable(message.text.text),
          },
        }),
      activities: [...this.#calls.values()].map(call => {
        const { activityId, name, kind, title, startedAt } = this.#describe(call)
        const masked = { name: this.#redactor.text(name), title: storable(this.#redactor.text(title)) }
        return { activityId, kind, ...masked, startedAt }
      }),
    }
  }

  /**
   * Marks a call as waiting for people.
   *
   * @returns true if the call is open and was not marked before
   */
  markAsking(id: string): boolean {
    const call = this.#calls.get(id)
    if (call === undefined || call.asks) return false
    call.asks = true
    return true
  }

  /**
   * Returns the events of one update.
   *
   * @param offset the update's offset in the journal
   * @param at when the agent wrote it
   */
  apply(update: Update, offset: number, at: Date): EventDraft[] {
    if (update.kind === 'other') return []
    // State beside the conversation: it ends no message.
    if (update.kind === 'plan') return [this.#transcript('svc.plan.updated', { ...update.plan })]
    if (update.kind === 'pause') return this.#endMessage()
    if (update.kind !== 'text' || update.role !== 'assistant') this.#answeredAt = null
    else if (update.text !== '') this.#answeredAt = at
    if (update.kind === 'tool') return this.#tool(update.call, offset, at)
    const open = this.#message
    const continues = open !== null && open.role === update.role && open.agentMessageId === update.messageId
    const ended = continues ? [] : this.#endMessage()
    this.#message ??= {
      role: update.role,
      agentMessageId: update.messageId,
      offset,
      masking: this.#redactor.stream(),
      text: new TextCollector(),
      whole: new TextCollector(update.role === 'assistant' ? MAX_SUMMARY_BYTES : 0),
    }
    collect(this.#message, this.#message.masking.push(update.text))
    return ended
  }

  /** Ends open items when the agent has stopped: a tool call without an end has failed. */
  close(at: Date): EventDraft[] {
    const drafts = this.#endMessage()
    for (const [id, call] of this.#calls) drafts.push(...this.#endCall(id, call, 'failed', at))
    return drafts
  }

  #endMessage(): EventDraft[] {
    const message = this.#message
    this.#message = null
    if (message === null) return []
    collect(message, message.masking.end())
    if (message.text.text === '') return []
    if (message.role === 'assistant') {
      const { whole } = message
      this.#lastAnswer = whole.truncated ? { sizeBytes: whole.totalBytes } : whole.text
    }
    return [
      this.#transcript('svc.message.created', {
        messageId: this.#id('message', message.offset),
        role: message.role,
        text: message.text.text,
        ...(message.text.truncated && { truncated: true }),
      }),
    ]
  }

  #tool(update: ToolUpdate, offset: number, at: Date): EventDraft[] {
    // Also before a dropped update: a fold that began later does not know which calls there have been.
    const drafts = this.#endMessage()
    const known = this.#calls.get(update.id)
    // Agents send updates of ended calls, which must not begin the call a second time.
    if (known === undefined && !update.begins) return drafts
    const call = known ?? openCall(offset, at)
    this.#openLength -= lengthOf(call)
    merge(call, update, this.#redactor)
    if (this.#openLength + lengthOf(call) > MAX_OPEN_LENGTH) leaveOut(call)
    this.#openLength += lengthOf(call)
    if (update.begins) {
      this.#calls.delete(update.id)
      this.#calls.set(update.id, call)
    }
    if (known === undefined) {
      drafts.push(callProgress(this.#of.runId, this.#describe(call), 'started', at))
    }
    if (update.status === 'completed' || update.status === 'failed') {
      drafts.push(...this.#endCall(update.id, call, update.status === 'completed' ? 'succeeded' : 'failed', at))
    }
    for (const [id, longestAgo] of this.#calls) {
      if (this.#calls.size <= this.#maxOpenCalls) break
      drafts.push(...this.#endCall(id, longestAgo, 'failed', at))
    }
    return drafts
  }

  #endCall(id: string, call: CallInFold, status: 'succeeded' | 'failed', at: Date): EventDraft[] {
    this.#calls.delete(id)
    this.#openLength -= lengthOf(call)
    const { input, diffs } = call
    call.printed?.end()
    const { output, truncated } = outputOf(call)
    return callEnd(this.#of.runId, this.#describe(call), status, at, {
      ...(input !== undefined && { input }),
      ...(output !== undefined && { output }),
      ...(diffs !== undefined && { diff: diffs }),
      ...(truncated && { truncated }),
    })
  }

  #describe(call: CallInFold): Omit<OpenCall, 'asks' | 'input'> {
    const { kind, title, startedAt, delegationId } = call
    return {
      activityId: this.#activityId(call),
      name: nameOf(call),
      kind,
      title,
      startedAt: startedAt.toISOString(),
      ...(delegationId !== undefined && { delegationId }),
    }
  }

  #transcript(type: string, data: Record<string, unknown>): EventDraft {
    return { type, runId: this.#of.runId, visibility: 'transcript', data }
  }

  /** Identifies a call by its offset, because an agent may reuse its own ids. */
  #activityId(call: CallInFold): string {
    return this.#id('activity', call.offset)
  }

  /**
   * Derives the ids of messages and activities from the journal, so that a replay gives the same ones. The seed
   * includes the attempt: each sandbox has its own journal, and items of two journals may share an offset.
   */
  #id(kind: string, offset: number): string {
    return digestId(`${this.#of.runId}/${this.#of.attempt}/${kind}/${offset}`)
  }
}

function openCall(offset: number, startedAt: Date): CallInFold {
  return {
    offset,
    startedAt,
    name: undefined,
    kind: 'other',
    title: '',
    input: undefined,
    text: undefined,
    printed: null,
    result: undefined,
    diffs: undefined,
    delegationId: undefined,
    truncated: false,
    asks: false,
  }
}

function collect(message: OpenMessage, masked: string): void {
  message.text.append(masked)
  message.whole.append(masked)
}

function merge(call: CallInFold, update: ToolUpdate, redactor: Redactor): void {
  call.name = update.name ?? call.name
  call.kind = update.kind ?? call.kind
  call.title = update.title ?? call.title
  call.input = update.input ?? call.input
  call.text = update.text ?? call.text
  if (update.printed !== undefined) {
    call.printed ??= new MaskedCollector(redactor)
    call.printed.append(update.printed)
  }
  call.result = update.result ?? call.result
  call.diffs = update.diffs ?? call.diffs
  call.delegationId = update.delegationId ?? call.delegationId
  call.truncated ||= update.truncated
}

/** Returns the text that the tool shows of its work, else its command's output, else its result if no diff shows it. */
function outputOf({ text, printed, result, diffs, truncated }: CallInFold) {
  if (text !== undefined || (printed === null && diffs !== undefined)) return { output: text, truncated }
  const shown = printed ?? result
  return { output: shown?.text, truncated: truncated || shown?.truncated === true }
}

/** Counts the parts that may be long. Input and title have bounds of their own. */
function lengthOf({ text = '', printed, result, diffs = [] }: CallInFold): number {
  const length = text.length + (printed?.text.length ?? 0) + (result?.text?.length ?? 0)
  return diffs.reduce((sum, { oldText, newText }) => sum + oldText.length + newText.length, length)
}

function leaveOut(call: CallInFold): void {
  call.text = undefined
  call.printed = null
  call.result = undefined
  call.diffs = undefined
  call.truncated = true
}

/** Returns the tool's own name if it is a valid one, else its kind. */
function nameOf(call: CallInFold): string {
  return call.name !== undefined && /^[\w.:-]{1,128}$/.test(call.name) ? call.name : call.kind
}
