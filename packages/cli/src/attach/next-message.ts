import { randomUUID } from 'node:crypto'
import type { BerthClient, Event, NextTurn } from '@berth/client'
import { textOf } from '@berth/client/transcript'
import { printableLine } from '../terminal-text.ts'

/** The message that waits until the Run ends: that of the person here, or of somebody else. */
export class NextMessage {
  readonly #client: BerthClient
  readonly #sessionId: string
  /** Ids of the messages that were written here. */
  readonly #own = new Set<string>()
  #waiting: NextTurn | null = null
  /** The last Turn of the log. */
  #lastTurnId = ''

  constructor(client: BerthClient, sessionId: string) {
    this.#client = client
    this.#sessionId = sessionId
  }

  /** Returns the line that shows it; null if nothing waits. */
  get line(): string | null {
    if (this.#waiting === null) return null
    const { turnId, message, writtenBy } = this.#waiting
    const isOwn = this.#own.has(turnId)
    return `next${isOwn ? '' : `, by ${printableLine(writtenBy.name)}`}: ${printableLine(message)}${isOwn ? '  (Esc takes it back)' : ''}`
  }

  /** Reads the pending message. @returns the code with which a message of the person here was refused, or null */
  async read(signal: AbortSignal): Promise<string | null> {
    const { nextTurn } = await this.#client.call('getNextTurn', { sessionId: this.#sessionId }, { signal })
    this.#waiting = this.#unlessSent(nextTurn)
    const { turnId, refused } = this.#waiting ?? {}
    return turnId !== undefined && this.#own.has(turnId) ? (refused ?? null) : null
  }

  /** Leaves a message, in the place of an earlier one that was written here. */
  async leave(message: string): Promise<void> {
    const turnId = randomUUID()
    const before = this.#waiting?.turnId
    const replaces = before !== undefined && this.#own.has(before) ? { replaces: before } : {}
    this.#own.add(turnId)
    const input = { sessionId: this.#sessionId, body: { turnId, message, ...replaces } }
    this.#waiting = this.#unlessSent((await this.#client.call('putNextTurn', input)).nextTurn)
  }

  /** Takes back a message that was written here; returns its text, or null if none waits. */
  async takeBack(): Promise<string | null> {
    if (this.#waiting === null || !this.#own.has(this.#waiting.turnId)) return null
    const { nextTurn } = await this.#client.call('withdrawNextTurn', { sessionId: this.#sessionId })
    this.#waiting = null
    return nextTurn?.message ?? null
  }

  /** The Run may have ended meanwhile, and the log be quicker than an answer. */
  #unlessSent(waiting: NextTurn | null): NextTurn | null {
    return waiting?.turnId === this.#lastTurnId ? null : waiting
  }

  /** Takes notice of an Event: the message has become a Turn. */
  event(event: Event): void {
    if (event.type !== 'svc.message.created' || textOf(event, 'role') !== 'user') return
    this.#lastTurnId = textOf(event, 'turnId')
    if (this.#lastTurnId === this.#waiting?.turnId) this.#waiting = null
  }
}
