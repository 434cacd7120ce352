import { useSyncExternalStore } from 'react'

/** Directories that a person has opened, by Session. They stay open while other panels are shown. */
const opened = new Map<string, ReadonlySet<string>>()
const listeners = new Set<() => void>()
const none: ReadonlySet<string> = new Set()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function change(sessionId: string, paths: ReadonlySet<string>): void {
  opened.set(sessionId, paths)
  for (const listener of listeners) listener()
}

/** Lists the directories above a path: `a`, `a/b` for `a/b/c`. */
function parentsOf(path: string): string[] {
  const names = path.split('/').slice(0, -1)
  return names.map((_, at) => names.slice(0, at + 1).join('/'))
}

/** Opens the directories above a path, so that the tree shows it. */
export function reveal(sessionId: string, path: string): void {
  const before = opened.get(sessionId) ?? none
  const parents = parentsOf(path)
  if (parents.some(parent => !before.has(parent))) change(sessionId, new Set([...before, ...parents]))
}

/**
 * Returns the open directories of a Session, and the way to open or close one.
 * @param shown a file; the tree first shows the way to it
 */
export function useExpanded(
  sessionId: string,
  shown: string | undefined,
): readonly [ReadonlySet<string>, (path: string, open: boolean) => void] {
  if (!opened.has(sessionId) && shown !== undefined) opened.set(sessionId, new Set(parentsOf(shown)))
  const expanded = useSyncExternalStore(subscribe, () => opened.get(sessionId) ?? none)
  const set = (path: string, open: boolean) => {
    const next = new Set(expanded)
    if (open) next.add(path)
    else next.delete(path)
    change(sessionId, next)
  }
  return [expanded, set]
}
