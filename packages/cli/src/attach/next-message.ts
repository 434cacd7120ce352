import { randomUUID } from 'node:crypto'
import type { Event, NextTurn, NextTurnOperations } from '@berth/client'
import { textOf } from '@berth/client/transcript'
import { printableLine } from '../terminal-text.ts'

/** The message that waits until the Run ends: that of the person here, or of somebody else. */
export class NextMessage {
  readonly #nextTurns: NextTurnOperations
  readonly #sessionId: string
  /** Ids of the messages that were written here. */
  readonly #own = new Set<string>()
  #waiting: NextTurn | null = null
  /** The last Turn of the log. */
  #told = ''

  constructor(nextTurns: NextTurnOperations, sessionId: string) {
    this.#nextTurns = nextTurns
    this.#sessionId = sessionId
  }

  /** Returns the line that shows it; null if nothing waits. */
  get line(): string | null {
    if (this.#waiting === null) return null
    const { turnId, message, writtenBy } = this.#waiting
    const isOwn = this.#own.has(turnId)
    return `next${isOwn ? '' : `, by ${printableLine(writtenBy.name)}`}: ${printableLine(message)}${isOwn ? '  (Esc takes it back)' : ''}`
  }

  /** Reads what waits. @returns the code with which a message of the person here was refused, or null */
  async look(signal: AbortSignal): Promise<string | null> {
    const waiting = await this.#nextTurns.get(this.#sessionId, { signal })
    this.#waiting = this.#unlessTold(waiting)
    const { turnId, refused } = this.#waiting ?? {}
    return turnId !== undefined && this.#own.has(turnId) ? (refused ?? null) : null
  }

  /** Leaves a message, in the place of an earlier one that was written here. */
  async leave(message: string): Promise<void> {
    const turnId = randomUUID()
    const before = this.#waiting?.turnId
    const replaces = before !== undefined && this.#own.has(before) ? { replaces: before } : {}
    this.#own.add(turnId)
    const waiting = await this.#nextTurns.put(this.#sessionId, { turnId, message, ...replaces })
    this.#waiting = this.#unlessTold(waiting)
  }

  /** Takes back a message that was written here; returns its text, or null if none waits. */
  async takeBack(): Promise<string | null> {
    if (this.#waiting === null || !this.#own.has(this.#waiting.turnId)) return null
    const taken = await this.#nextTurns.withdraw(this.#sessionId)
    this.#waiting = null
    return taken?.message ?? null
  }

  /** The Run may have ended meanwhile, and the log be quicker than an answer. */
  #unlessTold(waiting: NextTurn | null): NextTurn | null {
    return waiting?.turnId === this.#told ? null : waiting
  }

  /** Takes notice of an Event: the message has become a Turn. */
  event(event: Event): void {
    if (event.type !== 'svc.message.created' || textOf(event, 'role') !== 'user') return
    this.#told = textOf(event, 'turnId')
    if (this.#told === this.#waiting?.turnId) this.#waiting = null
  }
}
