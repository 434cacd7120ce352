import { useState } from 'react'

const keyOf = (name: string) => `berth.form.${name}`

function read<T>(name: string, initial: T): T {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null')
    return kept === null ? initial : { ...initial, ...(kept as T) }
  } catch {
    return initial
  }
}

/** Forgets what a dialog's form held. */
export function forgetKept(name: string): void {
  sessionStorage.removeItem(keyOf(name))
}

/** State of a dialog's form that stays in the tab while the person is away for a sign-in. It must hold no secret. */
export function useKept<T extends object>(name: string, initial: T): readonly [T, (change: Partial<T>) => void] {
  const [value, setValue] = useState(() => read(name, initial))
  return [
    value,
    change => {
      const next = { ...value, ...change }
      setValue(next)
      try {
        sessionStorage.setItem(keyOf(name), JSON.stringify(next))
      } catch {
        // Storage is full or blocked; the form itself still has it.
      }
    },
  ]
}
