import type { PlainDocument } from '@berth/client/documents'
import type { FormValues } from './form-values.ts'

/** The revision that edits began from; null for an environment that is not saved yet. */
export interface Base {
  readonly revision: number | null
  readonly document: PlainDocument
}

/** Edits of an environment that are not saved. */
export interface Edits {
  readonly base: Base
  readonly view: 'form' | 'json'
  readonly values: FormValues
  /** The text of the JSON view. */
  readonly json: string
}

const keyOf = (environmentId: string) => `berth.environment.${environmentId}`

const known = new Map<string, Edits | null>()

/** Unsaved edits by environment. They stay in the tab, and reloading it keeps them. */
export const edits = {
  read(environmentId: string): Edits | null {
    const held = known.get(environmentId)
    if (held !== undefined) return held
    try {
      return JSON.parse(sessionStorage.getItem(keyOf(environmentId)) ?? 'null') as Edits | null
    } catch {
      return null
    }
  },
  write(environmentId: string, made: Edits | null): void {
    known.set(environmentId, made)
    try {
      if (made === null) sessionStorage.removeItem(keyOf(environmentId))
      else sessionStorage.setItem(keyOf(environmentId), JSON.stringify(made))
    } catch {
      // Storage is full or blocked; the page itself still has them.
    }
  },
}
