import { useSyncExternalStore } from 'react'

/** The rows that a person has unfolded or folded. It outlives the rows' elements, which come and go with scrolling. */
const chosen = new Map<string, boolean>()
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function choose(id: string, unfolded: boolean): void {
  chosen.set(id, unfolded)
  for (const listener of listeners) listener()
}

/** Unfolds something, if it is folded. */
export function unfold(id: string): void {
  if (chosen.get(id) !== true) choose(id, true)
}

/** Returns whether a person has unfolded or folded something, and the way to do so. The id is unique in the organization. */
export function useFolding(id: string): readonly [boolean | undefined, (unfolded: boolean) => void] {
  return [useSyncExternalStore(subscribe, () => chosen.get(id)), unfolded => choose(id, unfolded)]
}

/** Returns whether something is unfolded, and the way to change it. */
export function useUnfolded(id: string): readonly [boolean, () => void] {
  const [unfolded = false, set] = useFolding(id)
  return [unfolded, () => set(!unfolded)]
}
