import { useSyncExternalStore } from 'react'
import { serverNow } from '../api/server-clock.ts'

/** A clock that ticks while somebody looks at it, shared by everything with the same pace. */
function ticking(paceMs: number) {
  const listeners = new Set<() => void>()
  let timer: ReturnType<typeof setInterval> | null = null
  let now = Math.floor(serverNow() / paceMs) * paceMs
  const tick = () => {
    now = Math.floor(serverNow() / paceMs) * paceMs
    for (const listener of listeners) listener()
  }
  return {
    subscribe(listener: () => void) {
      listeners.add(listener)
      if (timer === null) {
        tick()
        timer = setInterval(tick, paceMs)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0 || timer === null) return
        clearInterval(timer)
        timer = null
      }
    },
    read: () => now,
  }
}

const seconds = ticking(1_000)
const minutes = ticking(30_000)

/** Returns the server's time to the second, and renders again each second. */
export function useSecond(): number {
  return useSyncExternalStore(seconds.subscribe, seconds.read)
}

/** Returns the server's time to half a minute. */
export function useMinute(): number {
  return useSyncExternalStore(minutes.subscribe, minutes.read)
}
