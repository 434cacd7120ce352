import { useSyncExternalStore } from 'react'

/** A choice of how the page appears and is used, for this browser. */
export interface Preference<T extends string> {
  readonly choose: (value: T) => void
  readonly use: () => T
  readonly read: () => T
}

/**
 * Makes a preference that is an attribute of the document, `data-<name>`. `before-paint.js` reads the same keys.
 *
 * @param values the first is the one without a choice
 */
function preference<T extends string>(name: string, values: readonly [T, ...T[]]): Preference<T> {
  const key = `berth.${name}`
  const listeners = new Set<() => void>()
  const { dataset } = document.documentElement
  const read = () => values.find(value => value === dataset[name]) ?? values[0]
  const apply = (value: string | null) => {
    dataset[name] = values.find(known => known === value) ?? values[0]
    for (const listener of listeners) listener()
  }
  addEventListener('storage', event => {
    if (event.key === key) apply(event.newValue)
  })
  return {
    choose(value) {
      try {
        if (value === values[0]) localStorage.removeItem(key)
        else localStorage.setItem(key, value)
      } catch {
        // Storage is blocked: the choice lasts as long as the page.
      }
      apply(value)
    },
    use: () =>
      useSyncExternalStore(listener => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      }, read),
    read,
  }
}

/** Whether things may move. */
export const motion: Preference<'system' | 'reduced'> = preference('motion', ['system', 'reduced'])

/** How large text is, and with it everything else. */
export const density: Preference<'normal' | 'compact' | 'large'> = preference('density', ['normal', 'compact', 'large'])

/** Whether single characters are shortcuts where nobody types. */
export const singleKeys: Preference<'on' | 'off'> = preference('keys', ['on', 'off'])
