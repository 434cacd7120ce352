import { useSyncExternalStore } from 'react'
import { live } from './live.ts'

const subscribe = (watcher: () => void) => live.watch(watcher)

/** Returns true while the service takes no connection of this tab. */
export function useAway(): boolean {
  return useSyncExternalStore(subscribe, () => live.isAway)
}
