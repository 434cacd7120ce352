import { useSyncExternalStore } from 'react'

/** A person's choice; `system` follows the operating system. */
export type ThemeChoice = 'system' | 'light' | 'dark'

/** Shared with `before-paint.js`. */
const key = 'berth.theme'

const listeners = new Set<() => void>()
const systemIsDark = () => matchMedia('(prefers-color-scheme: dark)')

function readChoice(): ThemeChoice {
  try {
    const stored = localStorage.getItem(key)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  } catch {
    return 'system'
  }
}

function apply(): void {
  const choice = readChoice()
  const dark = choice === 'dark' || (choice === 'system' && systemIsDark().matches)
  document.documentElement.dataset['theme'] = dark ? 'dark' : 'light'
  for (const listener of listeners) listener()
}

/** Follows the system and other tabs. Call it once. */
export function watchTheme(): void {
  systemIsDark().addEventListener('change', apply)
  addEventListener('storage', event => {
    if (event.key === key) apply()
  })
}

/** Stores a choice and applies it at once. */
export function chooseTheme(choice: ThemeChoice): void {
  try {
    if (choice === 'system') localStorage.removeItem(key)
    else localStorage.setItem(key, choice)
  } catch {
    document.documentElement.dataset['theme'] = choice === 'dark' ? 'dark' : 'light'
    return
  }
  apply()
}

/** Returns the person's choice. */
export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore(listener => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, readChoice)
}
