import { useSyncExternalStore } from 'react'

/** Which overlay of the keyboard is open. */
type Overlay = 'palette' | 'shortcuts' | null

let open: Overlay = null
const listeners = new Set<() => void>()

/** Opens an overlay, or closes the one that is open. */
export function showOverlay(next: Overlay): void {
  open = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns which overlay is open. */
export function useOverlay(): Overlay {
  return useSyncExternalStore(subscribe, () => open)
}
