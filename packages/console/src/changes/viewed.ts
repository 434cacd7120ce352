import { useSyncExternalStore } from 'react'

/** What was on screen when a person marked a file as viewed, by path. Another content asks to be looked at again. */
const viewed = new Map<string, string>()
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns whether this content of a file was viewed, and the way to say so. */
export function useViewed(path: string, content: string): readonly [boolean, (value: boolean) => void] {
  const value = useSyncExternalStore(subscribe, () => viewed.get(path) === content)
  const set = (next: boolean) => {
    if (next) viewed.set(path, content)
    else viewed.delete(path)
    for (const listener of listeners) listener()
  }
  return [value, set]
}
