import { useSyncExternalStore } from 'react'

interface Preferences {
  readonly split: boolean
  readonly wrap: boolean
}

const storageKey = 'berth.diff'
const listeners = new Set<() => void>()
let preferences = read()

function read(): Preferences {
  try {
    const { split, wrap } = Object(JSON.parse(localStorage.getItem(storageKey) ?? '{}')) as Record<string, unknown>
    return { split: split !== false, wrap: wrap !== false }
  } catch {
    return { split: true, wrap: true }
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns how this browser's person likes diffs, and the way to change it. */
export function useDiffPreferences(): readonly [Preferences, (part: Partial<Preferences>) => void] {
  const now = useSyncExternalStore(subscribe, () => preferences)
  return [
    now,
    part => {
      preferences = { ...preferences, ...part }
      try {
        localStorage.setItem(storageKey, JSON.stringify(preferences))
      } catch {
        // Storage is full or blocked: the choice lasts as long as the page.
      }
      for (const listener of listeners) listener()
    },
  ]
}
