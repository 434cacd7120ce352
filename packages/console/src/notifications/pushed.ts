import { useSyncExternalStore } from 'react'

/** The content of a push message. */
export interface Wishes {
  readonly needsYou: boolean
  readonly runEnded: boolean
}

/** A browser that is pushed to for a membership, by the id that it chose. */
interface Pushed extends Wishes {
  readonly id: string
}

const prefix = 'berth.push.'
const listeners = new Set<() => void>()

const textOf = (membershipId: string): string | null => {
  try {
    return localStorage.getItem(prefix + membershipId)
  } catch {
    return null
  }
}

function parse(text: string | null): Pushed | null {
  try {
    const { id, needsYou, runEnded } = Object(JSON.parse(text ?? 'null')) as Partial<Pushed>
    return typeof id === 'string' ? { id, needsYou: needsYou === true, runEnded: runEnded === true } : null
  } catch {
    return null
  }
}

/** For which memberships this browser is pushed to, as far as it remembers. */
export const pushed = {
  of: (membershipId: string): Pushed | null => parse(textOf(membershipId)),
  set(membershipId: string, value: Pushed | null): void {
    if (value === null) localStorage.removeItem(prefix + membershipId)
    else localStorage.setItem(prefix + membershipId, JSON.stringify(value))
    for (const listener of listeners) listener()
  },
  isAny: (): boolean => Object.keys(localStorage).some(key => key.startsWith(prefix)),
}

/** Returns this browser's stored subscription for a membership; null if there is none. */
export function usePushed(membershipId: string): Pushed | null {
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    addEventListener('storage', listener)
    return () => {
      listeners.delete(listener)
      removeEventListener('storage', listener)
    }
  }
  return parse(useSyncExternalStore(subscribe, () => textOf(membershipId)))
}
