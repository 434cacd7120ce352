import type { SessionState } from '@berth/contract'

/** So many Sessions are remembered; the one that was heard of longest ago is forgotten first. */
const most = 2_000

/**
 * What this tab knows of Sessions, from the feed or from a list that was read. Either may be the first to tell of a change:
 * a list is read again after each break of the stream, and its answer may overtake the feed. So a change is whatever is
 * newer than both have told.
 */
export class KnownStates {
  readonly #states = new Map<string, SessionState>()

  /**
   * Notes what the feed tells.
   * @returns the state before, undefined if the Session was not known; null if a newer one is known
   */
  told(state: SessionState): { readonly before: SessionState | undefined } | null {
    const before = this.#states.get(state.id)
    return this.#note(before, state) ? { before } : null
  }

  /**
   * Notes what a list says. A Session that only now appears in it may be as it is for long.
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
