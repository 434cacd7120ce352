import { useSyncExternalStore } from 'react'

/** The rows that a person has unfolded. They outlive the rows' elements, which come and go with scrolling. */
const open = new Set<string>()
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Unfolds something, if it is folded. */
export function unfold(id: string): void {
  if (open.has(id)) return
  open.add(id)
  for (const listener of listeners) listener()
}

/** Returns whether something is unfolded, and the way to change it. The id is unique in the organization. */
export function useUnfolded(id: string): readonly [boolean, () => void] {
  const unfolded = useSyncExternalStore(subscribe, () => open.has(id))
  const toggle = () => {
    if (!open.delete(id)) open.add(id)
    for (const listener of listeners) listener()
  }
  return [unfolded, toggle]
}
