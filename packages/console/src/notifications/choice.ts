import { useSyncExternalStore } from 'react'

const key = 'berth.notifications'
const listeners = new Set<() => void>()

const isOn = () => {
  try {
    return localStorage.getItem(key) === 'on'
  } catch {
    return false
  }
}

/** Whether this browser may notify, as the person chose and the browser permits. */
export const notifications = {
  /** Null if the browser has none here. */
  permission: (): NotificationPermission | null =>
    'Notification' in globalThis && isSecureContext ? Notification.permission : null,
  active: (): boolean => isOn() && notifications.permission() === 'granted',
  choose(on: boolean): void {
    try {
      if (on) localStorage.setItem(key, 'on')
      else localStorage.removeItem(key)
    } catch {
      // Storage is blocked, so the choice cannot be kept.
    }
    for (const listener of listeners) listener()
  },
  use: (): boolean =>
    useSyncExternalStore(listener => {
      listeners.add(listener)
      addEventListener('storage', listener)
      return () => {
        listeners.delete(listener)
        removeEventListener('storage', listener)
      }
    }, isOn),
}
