import type { SessionState } from '@berth/contract'

/** So many Sessions are remembered; the one that was heard of longest ago is forgotten first. */
const most = 2_000

/**
 * The states of Sessions that this tab knows, from the feed or from a list. Either may be the first with a change:
 * a list is read again after each break of the stream, and its answer may overtake the feed. So a change is a state
 * that is newer than both.
 */
export class KnownStates {
  readonly #states = new Map<string, SessionState>()

  /**
   * Records a state from the feed.
   * @returns the state before, undefined if the Session was not known; null if a newer one is known
   */
  received(state: SessionState): { readonly before: SessionState | undefined } | null {
    const before = this.#states.get(state.id)
    return this.#note(before, state) ? { before } : null
  }

  /**
   * Records a state from a list. A Session that only now appears in it may have been so for long.
   * @returns the state before; null if the Session was not known, or a newer state is
   */
  read(state: SessionState): { readonly before: SessionState } | null {
    const before = this.#states.get(state.id)
    return this.#note(before, state) && before !== undefined ? { before } : null
  }

  #note(before: SessionState | undefined, state: SessionState): boolean {
    if (before === state) return false
    if (before !== undefined && before.lastEventSequence > state.lastEventSequence) return false
    this.#states.delete(state.id)
    this.#states.set(state.id, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > most && oldest !== undefined) this.#states.delete(oldest)
    return true
  }
}
