import { CLIENT_METHODS, PROTOCOL_METHODS } from '@agentclientprotocol/sdk'
import type { ServerTemplate } from '@berth/core/environments/extensions/server-template.ts'
import type { EventDraft } from '@berth/core/sessions/log/envelope.ts'
import type { Preview } from '@berth/core/sessions/previews/preview.ts'
import type { OpenCall } from '@berth/core/sessions/runs/open-calls.ts'
import { ownCredentials, type Redactor } from '@berth/platform/kit/redactor.ts'
import type { JournalRecord } from '../supervisor/stream.ts'
import {
  type AgentMessage,
  asKey,
  asObject,
  isOverlong,
  readAgentMessage,
  readPermissionCall,
  readTitle,
  readUpdate,
  type Update,
} from './acp-message.ts'
import { isFurther, type Order, type PromptOf, promptKeyOf, refuse, reply, steeredTurn, wireIds } from './acp-orders.ts'
import {
  denial,
  denyOptionOf,
  MAX_REPLY_ID_BYTES,
  type Question,
  readElicitation,
  readPermission,
} from './acp-questions.ts'
import { type AgentEnd, type AgentFacts, afterHandshake, type Handshake } from './agent-handshake.ts'
import { AgentRequests, type RequestsReading } from './agent-requests.ts'
import { BACKGROUND_UPDATED, BERTH_EVENT, readBerthEvent } from './berth-event.ts'
import { outcomeOfAnswer } from './prompt-outcome.ts'
import { type AgentState, ReportedState } from './reported-state.ts'
import { type LastAnswer, Transcript } from './transcript.ts'

/** The results of reading the journal since the last `take()`. */
export interface Reading extends RequestsReading {
  readonly drafts: EventDraft[]
  /** Turns whose message the agent's conversation has. */
  readonly steered: readonly string[]
  /** The agent's title for the conversation, its first of the attempt; null if it gave none. */
  readonly title: string | null
  /** Number of Events left out because the Run's budget of Events is spent. */
  readonly dropped: number
  /** Number of tool calls that have begun. */
  readonly toolCalls: number
  /** Tool calls that have not ended; null if they have not changed. */
  readonly openCalls: readonly OpenCall[] | null
  /** End of the last record read. */
  readonly offset: number
  /** Offset at which a worker that attaches later must begin. */
  readonly replayFrom: number
  readonly facts: AgentFacts
  /** The agent received the prompt in this reading, with everything that the prompt tells it. */
  readonly prompted: boolean
}

/**
 * Reads the journal of a sandbox as the conversation of one attempt.
 *
 * Records that end at or before the committed offset only rebuild items that were open at a predecessor's commit. Their
 * effects are in the log already and are not emitted again.
 *
 * An agent's output is masked here before any of it is cut: a conversation emits none of the secrets that the sandbox
 * was given.
 */
export class AgentConversation {
  readonly #prompt: PromptOf
  readonly #committed: number
  readonly #transcript: Transcript
  readonly #redactor: Redactor
  readonly #isOwn: boolean
  readonly #handshake: Handshake
  readonly #endsMessages: boolean
  readonly #asksPeople: () => boolean
  readonly #requests: AgentRequests
  readonly #reported: ReportedState
  #facts: AgentFacts
  #offset: number
  #drafts: EventDraft[] = []
  #toolCalls = 0
  #callsMoved = false
  #given = false
  #steered: string[] = []
  #title: string | null = null
  /** An agent may send titles without end, and each would be a commit that wakes every follower. */
  #takesTitle: boolean
  /** Turns that the agent was given while it worked, and has not spoken of. */
  readonly #steering: Set<string>
  #end: AgentEnd | null = null
  /** Time of the last record that has one; items that this worker ends get this time. */
  #at = new Date(0)
  #lastAnswer: LastAnswer | null | undefined

  /**
   * @param waiting requests before the committed offset that people are asked: offset to JSON-RPC id
   * @param redactor the Session's, which masks every secret that the sandbox was given
   * @param options `isOwn`: it is Berth's own agent: one that refuses to load a conversation counts as one that loads
   * none, and it alone has commands in the background and says what its model was given;
   * `repeatsLate`: the answer that a conversation is loaded does not end its repetition; `servers`: those of the
   * lease's extensions, of which the log tells if an agent cannot speak with one; `endsMessages`: the answer to a prompt
   * ends the message before it, which is judged before the next prompt; `steering`: Turns that a worker may have given the
   * agent while it works; `asksPeople`: false once people are not asked anything any more; `reported`: the agent's
   * state as the log has it at the committed offset; `takesTitle`: false once somebody has given the Session a title
   */
  constructor(
    prompt: PromptOf,
    facts: AgentFacts,
    committed: number,
    waiting: ReadonlyMap<number, number | string> = new Map(),
    redactor: Redactor = ownCredentials,
    options: {
      readonly isOwn: boolean
      readonly repeatsLate?: boolean
      readonly servers?: readonly ServerTemplate[]
      readonly endsMessages?: boolean
      readonly steering?: readonly string[]
      readonly asksPeople?: () => boolean
      readonly reported?: AgentState
      readonly takesTitle?: boolean
    } = { isOwn: false },
  ) {
    this.#prompt = prompt
    this.#requests = new AgentRequests(waiting)
    this.#facts = facts
    this.#committed = committed
    this.#offset = committed
    this.#redactor = redactor
    this.#isOwn = options.isOwn
    const { isOwn, repeatsLate = false, servers = [] } = options
    this.#handshake = { isOwn, repeatsLate, servers }
    this.#endsMessages = options.endsMessages ?? false
    this.#steering = new Set(options.steering)
    this.#asksPeople = options.asksPeople ?? (() => true)
    this.#reported = new ReportedState(options.reported)
    this.#takesTitle = options.takesTitle ?? true
    this.#transcript = new Transcript(prompt, undefined, redactor)
  }

  get facts(): AgentFacts {
    return this.#facts
  }

  get end(): AgentEnd | null {
    return this.#end
  }

  /** What the agent is saying and doing right now; nothing before its prompt. */
  get preview(): Preview {
    return this.#transcript.preview
  }

  /** True if the agent waits for an answer from people. */
  get waits(): boolean {
    return this.#requests.waits
  }

  /** True if a command of the agent runs in the background. */
  get hasCommands(): boolean {
    return this.#reported.hasCommands
  }

  /** True if the agent has this attempt's prompt. */
  get prompted(): boolean {
    return this.#facts.activePrompt?.startsWith(promptKeyOf(this.#prompt)) === true
  }

  /**
   * The assistant's last message. Undefined if none has ended since the committed offset: an earlier one may have begun
   * before the replay, so only the log has it whole.
   */
  get lastAnswer(): LastAnswer | null | undefined {
    return this.#lastAnswer
  }

  /** When the agent wrote the end of its answer, if it is the last thing that this worker has read. */
  get answeredAt(): Date | null {
    return this.#transcript.answeredAt
  }

  apply(record: JournalRecord): void {
    const replayed = record.end <= this.#committed
    if (!replayed) this.#offset = record.end
    this.#at = record.at ?? this.#at
    switch (record.type) {
      case 's':
        if (!replayed) {
          this.#requests.forgetWaiting()
          this.#addStopped()
          this.#know({ generation: this.#facts.generation + 1, state: 'started', activePrompt: null })
        }
        break
      case 'f':
        if (!replayed) this.#end = { kind: 'unstartable', detail: record.payload.toString('utf8'), resuming: false }
        break
      case 'x':
        if (!replayed) this.#exited(record.payload.toString('utf8'))
        break
      case 'i':
        this.#requests.given(record.key, replayed)
        // A further prompt ends the message before it.
        if (isFurther(record.key)) this.#fold({ kind: 'pause' }, record.start, replayed)
        if (!replayed && record.key.startsWith(promptKeyOf(this.#prompt)) && this.#facts.state === 'ready') {
          this.#know({ activePrompt: record.key })
          if (this.#end?.kind === 'answered') this.#end = null
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

  /** Ends open items of the transcript; their events join the reading. */
  close(): void {
    this.#take(this.#transcript.close(this.#at))
    this.#requests.forgetUnanswered()
    this.#know({ activePrompt: null })
  }

  take(): Reading {
    const { firstUnanswered = this.#offset } = this.#requests
    const reading: Reading = {
      drafts: this.#drafts,
      ...this.#requests.take(),
      steered: this.#steered,
      title: this.#title,
      dropped: 0,
      toolCalls: this.#toolCalls,
      openCalls: this.#callsMoved ? this.#transcript.openCalls : null,
      offset: this.#offset,
      replayFrom: Math.min(this.#offset, this.#transcript.openSince ?? this.#offset, firstUnanswered),
      facts: this.#facts,
      prompted: this.#given,
    }
    this.#drafts = []
    this.#steered = []
    this.#title = null
    this.#toolCalls = 0
    this.#callsMoved = false
    this.#given = false
    return reading
  }

  /** Adds an Event of the worker's own to the reading, after everything read so far. */
  addDraft(draft: EventDraft): void {
    this.#drafts.push(draft)
  }

  /** Expects the agent to say whether it has taken the message of this Turn. */
  expectSteered(turnId: string): void {
    this.#steering.add(turnId)
  }

  takeReplies(): Order[] {
    return this.#requests.takeReplies()
  }

  get #promptId(): number {
    return wireIds.prompt(this.#prompt.turnSequence, this.#prompt.attempt)
  }

  #know(facts: Partial<AgentFacts>): void {
    this.#facts = { ...this.#facts, ...facts }
  }

  #exited(payload: string): void {
    const { signal } = asObject(parse(payload)) ?? {}
    // A ready agent without a prompt takes no work with it: the next process gets the prompt.
    const started = this.#facts.state === 'ready'
    const idle = started && !this.prompted
    this.#requests.exited()
    this.#addStopped()
    this.#know({ state: 'exited', activePrompt: null })
    if (!idle) this.#end ??= { kind: 'exited', signal: typeof signal === 'string' ? signal : null, started }
  }

  /** A process ends with its commands in the background. */
  #addStopped(): void {
    const stopped = this.#reported.stopped(this.#prompt.runId)
    if (stopped !== null) this.#reported.add(this.#drafts, stopped)
  }

  #heard(message: AgentMessage, offset: number, replayed: boolean): void {
    switch (message.kind) {
      case 'response':
        // Also when replayed, so that the same messages begin again.
        if (this.#endsMessages && message.id === this.#promptId) this.#fold({ kind: 'pause' }, offset, replayed)
        // Likewise when replayed: a message that joins the work ends the one before it.
        if (steeredTurn(message.id) !== null) this.#fold({ kind: 'pause' }, offset, replayed)
        if (!replayed) this.#answered(message)
        break
      case 'notification':
        this.#notified(message.method, message.params, offset, replayed)
        break
      case 'request':
        this.#requested(message, offset, replayed)
        break
      default:
        break
    }
  }

  #fold(update: Update, offset: number, replayed: boolean): void {
    // Before its prompt an agent repeats an earlier conversation; after its answer no output belongs to the Run.
    if (!this.prompted) return
    const drafts = this.#transcript.apply(update, offset, this.#at)
    if (!replayed) this.#take(drafts)
  }

  #take(drafts: readonly EventDraft[]): void {
    for (const draft of drafts) this.#reported.add(this.#drafts, draft)
    this.#toolCalls += drafts.filter(
      ({ data }) => data['status'] === 'started' && !(this.#isOwn && given.has(data['name'])),
    ).length
    this.#callsMoved ||= drafts.some(draft => draft.type === 'svc.run.progress')
    if (drafts.some(draft => draft.data['role'] === 'assistant')) this.#lastAnswer = this.#transcript.lastAnswer
  }

  #answered(message: Extract<AgentMessage, { kind: 'response' }>): void {
    const step = afterHandshake(this.#facts, message, this.#handshake)
    if (step !== null) {
      if (step.facts !== undefined) this.#know(step.facts)
      if (step.end !== undefined) this.#end = step.end
      this.#drafts.push(...(step.drafts ?? []))
    } else if (message.id === this.#promptId && this.prompted) {
      const outcome = outcomeOfAnswer(message.result, message.error, this.#redactor)
      this.#end = { kind: 'answered', outcome }
    } else {
      this.#steeredBy(message)
    }
  }

  #steeredBy({ id, result }: Extract<AgentMessage, { kind: 'response' }>): void {
    const turnId = steeredTurn(id)
    if (turnId === null || !this.#steering.delete(turnId)) return
    if (result?.['taken'] !== true || !this.prompted) return
    this.#steered.push(turnId)
    const data = { turnId, status: 'taken' }
    this.#drafts.push({ type: 'svc.turn.steered', runId: this.#prompt.runId, data })
  }

  #notified(method: string, params: Readonly<Record<string, unknown>>, offset: number, replayed: boolean): void {
    if (method === CLIENT_METHODS.session_update) {
      this.#fold(readUpdate(params, this.#redactor), offset, replayed)
      if (this.prompted && this.#takesTitle) this.#titled(readTitle(params, this.#redactor), replayed)
    } else if (method === BERTH_EVENT) {
      // A command in the background ends when it likes, also while the agent speaks and after its answer.
      const isBackground = params['type'] === BACKGROUND_UPDATED
      // They hold the sandbox's agent past its time, so no other agent says that there are any.
      if (isBackground && !this.#isOwn) return
      if (!isBackground) this.#fold({ kind: 'pause' }, offset, replayed)
      const isReported = (isBackground || this.prompted) && !replayed
      const event = isReported ? readBerthEvent(this.#masked(params), this.#prompt.runId) : null
      if (event !== null) this.#reported.add(this.#drafts, event)
    } else if (method === PROTOCOL_METHODS.cancel_request && !replayed) {
      this.#requests.takenBack(params['requestId'])
    }
  }

  #titled(title: string | null, replayed: boolean): void {
    if (title === null) return
    this.#takesTitle = false
    if (!replayed) this.#title = title
  }

  #requested(message: Extract<AgentMessage, { kind: 'request' }>, offset: number, replayed: boolean): void {
    const { id, method, params } = message
    if (method === CLIENT_METHODS.session_request_permission) {
      const update = readPermissionCall(params, this.#redactor)
      this.#fold(update, offset, replayed)
      this.#fold({ kind: 'pause' }, offset, replayed)
      const call = update.kind === 'tool' ? update.call : null
      const known = call === null ? null : this.#transcript.callOf(call.id)
      const question = readPermission(id, this.#masked(params), call, known)
      if (call !== null && question.ask.kind === 'exit_plan_mode') this.#asks(call.id)
      this.#ask(question, offset, replayed, () =>
        reply(offset, id, { outcome: denial(this.#asksPeople() ? denyOptionOf(params) : null) }),
      )
    } else if (method === CLIENT_METHODS.elicitation_create) {
      this.#fold({ kind: 'pause' }, offset, replayed)
      const question = readElicitation(id, this.#masked(params))
      this.#asks(asKey(params['toolCallId']))
      this.#ask(question, offset, replayed, () => reply(offset, id, { action: 'cancel' }))
    } else {
      this.#requests.answerAtOnce(refuse(offset, id, -32601, `${method} is not offered here`), offset)
    }
  }

  #masked(params: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return asObject(this.#redactor.value(params)) ?? {}
  }

  /** Marks a call as waiting for people; it has ended once they answer, even if its process is gone. */
  #asks(toolCallId: string | undefined): void {
    if (toolCallId !== undefined && this.#transcript.markAsking(toolCallId)) this.#callsMoved = true
  }

  /**
   * Puts a request to people. While people are not to be asked, or if its id is too long to keep for the reply, it is
   * refused in the words of its method, which no agent takes for an error, and not kept. A replayed request was either
   * recorded before or refused; it is then refused again, and the supervisor carries out an order only once.
   */
  #ask(question: Question, offset: number, replayed: boolean, refusal: () => Order): void {
    if (replayed && this.#requests.isWaiting(offset)) return
    const isReported = this.prompted && this.#asksPeople() && !replayed && this.#requests.hasRoom
    if (isReported && !isOverlong(question.agentRequest.id, MAX_REPLY_ID_BYTES))
      this.#requests.ask(question, offset, this.#drafts.length)
    else this.#requests.answerAtOnce(refusal(), offset)
  }
}

/**
 * Names under which Berth's own agent tells what its model was given. They do nothing, so a lost attempt may begin again
 * after them.
 */
const given: ReadonlySet<unknown> = new Set(['instructions', 'attachment'])

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
