import type { AgentRequest } from '@berth/core/sessions/interactions/open-interactions.ts'
import { type Order, replyKey } from './acp-orders.ts'
import type { Question } from './acp-questions.ts'

/** A request to people, with the number of the reading's drafts that come before it. */
export interface NewAsk extends AgentRequest {
  readonly draftsBefore: number
}

/** The changes of an agent's requests since the last `take()`. */
export interface RequestsReading {
  /** Requests to people, in the order of asking. */
  readonly requests: readonly NewAsk[]
  /** Offsets of earlier requests that their agent has withdrawn. */
  readonly withdrawn: readonly number[]
  /** Offsets of requests that the journal answers, or whose agent is gone. */
  readonly settled: readonly number[]
}

/** Requests of one agent that may wait for people at once; further ones are declined. */
const MAX_WAITING_ASKS = 32
/** Requests of one agent that the log tells at once, declined ones included. Further ones are refused and not kept. */
const MAX_PENDING = 128

/**
 * The requests of a sandbox's agent: those that are put to people, and those that are answered at once. Each is known by
 * its offset in the journal until the journal holds its reply.
 */
export class AgentRequests {
  /** Offsets of requests whose reply the journal does not hold yet, by the key of the reply. In the journal's order. */
  readonly #unanswered = new Map<string, number>()
  /** Requests that were put to people: offset to JSON-RPC id, until the journal holds their reply. */
  readonly #waiting: Map<number, number | string>
  readonly #replies = new Map<string, Order>()
  #pending: NewAsk[] = []
  #withdrawn: number[] = []
  #settled: number[] = []

  /** @param waiting requests before the committed offset that people are asked: offset to JSON-RPC id */
  constructor(waiting: ReadonlyMap<number, number | string>) {
    this.#waiting = new Map(waiting)
  }

  /** True if the agent waits for an answer from people. */
  get waits(): boolean {
    return this.#waiting.size > 0
  }

  /** Offset of the first request without a reply in the journal; undefined if there is none. */
  get firstUnanswered(): number | undefined {
    const [first] = this.#unanswered.values()
    return first
  }

  /** True if people are asked the request at an offset already. */
  isWaiting(offset: number): boolean {
    return this.#waiting.has(offset)
  }

  /** True if the log can tell of one more request. */
  get hasRoom(): boolean {
    return this.#waiting.size < MAX_PENDING
  }

  /** Puts a request to people, or records it as declined if it cannot be shown or exceeds the bound. */
  ask(question: Question, offset: number, draftsBefore: number): void {
    const declined = question.declined === true || this.#waiting.size >= MAX_WAITING_ASKS
    this.#waiting.set(offset, question.agentRequest.id)
    this.#pending.push({ ...question, declined, offset, draftsBefore })
  }

  answerAtOnce(order: Order, offset: number): void {
    this.#unanswered.set(order.key, offset)
    this.#replies.set(order.key, order)
  }

  /** The journal holds an answer. A replayed one was settled before. */
  given(key: string, replayed: boolean): void {
    this.#unanswered.delete(key)
    this.#replies.delete(key)
    if (replayed) return
    for (const offset of this.#waiting.keys()) {
      if (replyKey(offset) !== key) continue
      this.#waiting.delete(offset)
      this.#settled.push(offset)
    }
  }

  /** The agent withdrew a request; the newest with that id is meant. */
  takenBack(id: unknown): void {
    const [offset] = [...this.#waiting].filter(entry => entry[1] === id).at(-1) ?? []
    if (offset !== undefined) this.#withdrawn.push(offset)
  }

  /** The asking process is gone, so nobody waits for answers of people any more. */
  forgetWaiting(): void {
    this.#withdrawn.push(...this.#waiting.keys())
    this.#settled.push(...this.#waiting.keys())
    this.#waiting.clear()
  }

  /** Nobody reads replies any more: the attempt is over. */
  forgetUnanswered(): void {
    this.#unanswered.clear()
  }

  /** The process has exited, so no reply can reach it. */
  exited(): void {
    this.#unanswered.clear()
    this.#replies.clear()
    this.forgetWaiting()
  }

  take(): RequestsReading {
    const reading = { requests: this.#pending, withdrawn: this.#withdrawn, settled: this.#settled }
    this.#pending = []
    this.#withdrawn = []
    this.#settled = []
    return reading
  }

  takeReplies(): Order[] {
    const replies = [...this.#replies.values()]
    this.#replies.clear()
    return replies
  }
}
