import { useSyncExternalStore } from 'react'
import type { LineComment } from './line-comments.ts'

const listeners = new Set<() => void>()
/** The parsed comments, and the stored text that they were parsed from. */
const cache = new Map<string, { readonly stored: string | null; readonly list: readonly LineComment[] }>()
/** The name from when comments were called remarks: with another one, those that were not sent would be lost. */
const prefix = 'berth.remarks.'
const keyOf = (sessionId: string) => prefix + sessionId

function storedText(sessionId: string): string | null {
  try {
    return localStorage.getItem(keyOf(sessionId))
  } catch {
    return null
  }
}

/** Reads the storage each time, since other tabs write it as well; the same text gives the same list. */
function read(sessionId: string): readonly LineComment[] {
  const stored = storedText(sessionId)
  const known = cache.get(sessionId)
  if (known !== undefined && known.stored === stored) return known.list
  const list = parse(stored)
  cache.set(sessionId, { stored, list })
  return list
}

function parse(stored: string | null): readonly LineComment[] {
  try {
    const found: unknown = JSON.parse(stored ?? '[]')
    return Array.isArray(found) ? found.filter(isComment) : []
  } catch {
    // Unreadable comments count as none.
    return []
  }
}

function isComment(value: unknown): value is LineComment {
  const { id, path, side, line, quote, body } = Object(value) as Record<string, unknown>
  return (
    [id, path, quote, body].every(text => typeof text === 'string') &&
    (side === 'before' || side === 'after') &&
    Number.isSafeInteger(line)
  )
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener('storage', onStorage)
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) window.removeEventListener('storage', onStorage)
  }
}

/** Another tab has written; without a key, it has cleared everything. */
function onStorage({ key }: StorageEvent): void {
  if (key === null || key.startsWith(prefix)) for (const listener of listeners) listener()
}

/** Comments that were not sent yet. They survive a reload, and leave with the message. */
export const comments = {
  read,
  subscribe,
  write(sessionId: string, next: readonly LineComment[]): void {
    try {
      if (next.length === 0) localStorage.removeItem(keyOf(sessionId))
      else localStorage.setItem(keyOf(sessionId), JSON.stringify(next))
    } catch {
      // Storage is full or blocked; the page still has them.
    }
    cache.set(sessionId, { stored: storedText(sessionId), list: next })
    for (const listener of listeners) listener()
  },
  /** Does something while no other tab does so with the comments of this Session. */
  alone<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    return navigator.locks.request(keyOf(sessionId), work)
  },
  put(sessionId: string, comment: LineComment): void {
    const others = read(sessionId)
    const known = others.some(({ id }) => id === comment.id)
    comments.write(sessionId, known ? others.map(c => (c.id === comment.id ? comment : c)) : [...others, comment])
  },
  remove(sessionId: string, id: string): void {
    comments.write(
      sessionId,
      read(sessionId).filter(comment => comment.id !== id),
    )
  },
}

/** Returns the comments of a Session that were not sent yet. */
export const useComments = (sessionId: string): readonly LineComment[] =>
  useSyncExternalStore(subscribe, () => read(sessionId))
