import { CLIENT_METHODS } from '@agentclientprotocol/sdk'
import type { EventDraft } from '../events/envelope.ts'
import type { Outcome } from '../runs/run.ts'
import {
  type AgentMessage,
  asObject,
  asText,
  readAgentMessage,
  readPermissionCall,
  readUpdate,
  type Update,
} from './acp-message.ts'
import { type Order, type PromptOf, promptKeyOf, refuse, reply, replyKey, wireIds } from './acp-orders.ts'
import { outcomeOfAnswer } from './prompt-outcome.ts'
import type { JournalRecord } from './supervisor-stream.ts'
import { type LastAnswer, Transcript } from './transcript.ts'

/** What is known of the agent process of a lease; committed with the journal's offset. */
export interface AgentFacts {
  /** Counts the agent processes of the lease. */
  readonly generation: number
  readonly state: 'none' | 'started' | 'initialized' | 'ready' | 'exited'
  readonly loadsSessions: boolean
  readonly sessionId: string | null
  /** Key of the prompt that the agent has and has not answered. */
  readonly activePrompt: string | null
}

/** How the agent's part of an attempt ended. */
export type AgentEnd =
  | { readonly kind: 'answered'; readonly outcome: Outcome }
  | { readonly kind: 'exited'; readonly signal: string | null }
  /** `resuming`: it would not load the conversation that it was to go on with. */
  | { readonly kind: 'unstartable'; readonly detail: string; readonly resuming: boolean }

/** What reading the journal gave since the last time it was taken. */
export interface Reading {
  readonly drafts: EventDraft[]
  readonly toolCalls: number
  /** End of the last record read. */
  readonly offset: number
  /** Where a worker that attaches later must begin. */
  readonly replayFrom: number
  readonly facts: AgentFacts
  /** The agent has been given the prompt, and with it what it was told of earlier. */
  readonly prompted: boolean
}

/**
 * Reads the journal of a sandbox as the conversation of one attempt.
 *
 * Records that end at or before the committed offset are read only to rebuild what was open when a predecessor
 * committed it; what they caused is in the log already and is not given out again.
 */
export class Conversation {
  readonly #prompt: PromptOf
  readonly #committed: number
  readonly #transcript: Transcript
  /** Requests of the agent whose answer the journal does not hold yet, by the key of that answer. */
  readonly #unanswered = new Map<string, number>()
  #facts: AgentFacts
  #offset: number
  #drafts: EventDraft[] = []
  #toolCalls = 0
  #given = false
  #replies: Order[] = []
  #end: AgentEnd | null = null
  /** Time of the last record that has one. What this worker ends is dated by it. */
  #at = new Date(0)
  #lastAnswer: LastAnswer | null | undefined
  /** Set once cancellation is asked for: a permission request then has only one answer. */
  cancelling = false

  constructor(prompt: PromptOf, facts: AgentFacts, committed: number) {
    this.#prompt = prompt
    this.#facts = facts
    this.#committed = committed
    this.#offset = committed
    this.#transcript = new Transcript(prompt)
  }

  get facts(): AgentFacts {
    return this.#facts
  }

  get end(): AgentEnd | null {
    return this.#end
  }

  /** Whether the agent has this attempt's prompt. */
  get prompted(): boolean {
    return this.#facts.activePrompt?.startsWith(promptKeyOf(this.#prompt)) === true
  }

  /**
   * The assistant's last message. Undefined where none has ended since the
   * committed offset: one that ended before may have begun before the replay did, and only the log has the whole.
   */
  get lastAnswer(): LastAnswer | null | undefined {
    return this.#lastAnswer
  }

  apply(record: JournalRecord): void {
    const replayed = record.end <= this.#committed
    if (!replayed) this.#offset = record.end
    this.#at = record.at ?? this.#at
    switch (record.type) {
      case 's':
        if (!replayed) this.#know({ generation: this.#facts.generation + 1, state: 'started', activePrompt: null })
        break
      case 'f':
        if (!replayed) this.#end = { kind: 'unstartable', detail: record.payload.toString('utf8'), resuming: false }
        break
      case 'x':
        if (!replayed) this.#exited(record.payload.toString('utf8'))
        break
      case 'i':
        this.#unanswered.delete(record.key)
        if (!replayed && record.key.startsWith(promptKeyOf(this.#prompt)) && this.#facts.state === 'ready') {
          this.#know({ activePrompt: record.key })
          this.#given = true
        }
        break
      case 'o':
        this.#heard(readAgentMessage(record.payload.toString('utf8')), record.start, replayed)
        break
      default:
        break
    }
  }

  /** Ends what is open in the transcript; its events join the reading. */
  close(): void {
    this.#take(this.#transcript.close(this.#at))
    this.#unanswered.clear()
    this.#know({ activePrompt: null })
  }

  take(): Reading {
    const reading: Reading = {
      drafts: this.#drafts,
      toolCalls: this.#toolCalls,
      offset: this.#offset,
      replayFrom: Math.min(this.#offset, this.#transcript.openSince ?? this.#offset, ...this.#unanswered.values()),
      facts: this.#facts,
      prompted: this.#given,
    }
    this.#drafts = []
    this.#toolCalls = 0
    return reading
  }

  takeReplies(): Order[] {
    const replies = this.#replies
    this.#replies = []
    return replies
  }

  #know(facts: Partial<AgentFacts>): void {
    this.#facts = { ...this.#facts, ...facts }
  }

  #exited(payload: string): void {
    const { signal } = asObject(parse(payload)) ?? {}
    // An agent that was ready and had no prompt took nothing with it: the next process gets the prompt.
    const idle = this.#facts.state === 'ready' && !this.prompted
    this.#unanswered.clear()
    this.#replies = []
    this.#know({ state: 'exited', activePrompt: null })
    if (!idle) this.#end ??= { kind: 'exited', signal: typeof signal === 'string' ? signal : null }
  }

  #heard(message: AgentMessage, offset: number, replayed: boolean): void {
    switch (message.kind) {
      case 'response':
        if (!replayed) this.#answered(message)
        break
      case 'notification':
        if (message.method === CLIENT_METHODS.session_update) this.#told(readUpdate(message.params), offset, replayed)
        break
      case 'request':
        this.#asked(message, offset, replayed)
        break
      default:
        break
    }
  }

  #told(update: Update, offset: number, replayed: boolean): void {
    // Before the prompt an agent repeats an earlier conversation; after its answer nothing belongs to the Run.
    if (!this.prompted) return
    const drafts = this.#transcript.apply(update, offset, this.#at)
    if (!replayed) this.#take(drafts)
  }

  #take(drafts: readonly EventDraft[]): void {
    this.#drafts.push(...drafts)
    this.#toolCalls += drafts.filter(draft => draft.data['status'] === 'started').length
    if (drafts.some(draft => draft.data['role'] === 'assistant')) this.#lastAnswer = this.#transcript.lastAnswer
  }

  #answered(message: Extract<AgentMessage, { kind: 'response' }>): void {
    const failed = message.error !== null || message.result === null
    if (message.id === wireIds.initialize && this.#facts.state === 'started') {
      if (failed) this.#refuses('initialize', message.error)
      const capabilities = asObject(message.result?.['agentCapabilities'])
      this.#know({ state: 'initialized', loadsSessions: capabilities?.['loadSession'] === true })
    } else if (message.id === wireIds.newSession && this.#facts.state === 'initialized') {
      const sessionId = asText(message.result?.['sessionId'])
      if (failed || sessionId === undefined) this.#refuses('session/new', message.error)
      else this.#know({ state: 'ready', sessionId })
    } else if (message.id === wireIds.loadSession && this.#facts.state === 'initialized') {
      if (message.error !== null) this.#refuses('session/load', message.error)
      else this.#know({ state: 'ready' })
    } else if (message.id === wireIds.prompt(this.#prompt.turnSequence, this.#prompt.attempt) && this.prompted) {
      this.#end = { kind: 'answered', outcome: outcomeOfAnswer(message.result, message.error) }
    }
  }

  #refuses(method: string, error: Readonly<Record<string, unknown>> | null): void {
    const detail = `${method}: ${asText(error?.['message']) ?? 'no usable answer'}`
    this.#end = { kind: 'unstartable', detail, resuming: method === 'session/load' }
  }

  #asked(message: Extract<AgentMessage, { kind: 'request' }>, offset: number, replayed: boolean): void {
    const forPermission = message.method === CLIENT_METHODS.session_request_permission
    if (forPermission) this.#told(readPermissionCall(message.params), offset, replayed)
    this.#unanswered.set(replyKey(offset), offset)
    this.#replies.push(
      forPermission
        ? reply(offset, message.id, { outcome: this.#permission(message.params) })
        : refuse(offset, message.id, -32601, `${message.method} is not offered here`),
    )
  }

  /** The sandbox is the permission: what is asked for cannot leave it. */
  #permission(params: Readonly<Record<string, unknown>>): object {
    const options = Array.isArray(params['options']) ? params['options'].map(asObject) : []
    const once = options.find(option => option?.['kind'] === 'allow_once')
    if (this.cancelling || once === undefined || once === null) return { outcome: 'cancelled' }
    return { outcome: 'selected', optionId: once['optionId'] }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
