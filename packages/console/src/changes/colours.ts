import { useMemo, useSyncExternalStore } from 'react'
import type { GrowingColours } from './highlight.ts'
import type { Span } from './line-parts.ts'
import type { DiffLine, Hunk } from './patch.ts'

type Colours = (hunk: Hunk, line: DiffLine) => readonly Span[]

const none: readonly Span[] = []
const plain: Colours = () => none

/** The state of the parsers: absent until a file of their kind is shown, then how they colour. */
const ready = new Map<string, { readonly ofHunks: Colours; readonly growing: () => GrowingColours }>()
const requested = new Set<string>()
const listeners = new Set<() => void>()
let version = 0

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function ask(path: string): void {
  requested.add(path)
  void (async () => {
    const [{ loaderOf }, { coloursOf, GrowingColours }] = await Promise.all([
      import('../ui/languages.ts'),
      import('./highlight.ts'),
    ])
    const parser = await loaderOf(path)?.()
    if (parser === undefined) return
    ready.set(path, {
      ofHunks: (hunk, line) => coloursOf(hunk, parser).get(line) ?? none,
      growing: () => new GrowingColours(parser),
    })
    version++
    for (const listener of listeners) listener()
    // Without the parser the text is there, in one colour.
  })().catch(() => undefined)
}

/** Returns how files are coloured; a missing parser is fetched, and its files are drawn again. */
export function useColours(): (path: string) => Colours {
  useSyncExternalStore(subscribe, () => version)
  return path => {
    if (!requested.has(path)) queueMicrotask(() => requested.has(path) || ask(path))
    return ready.get(path)?.ofHunks ?? plain
  }
}

/** Returns the colours of lines, which are read again only from where they have changed since the last time. */
export function useGrowingColours(path: string, lines: readonly string[]): readonly (readonly Span[])[] {
  useColours()(path)
  const growing = ready.get(path)?.growing
  const colours = useMemo(() => growing?.(), [growing])
  return useMemo(() => colours?.of(lines) ?? [], [colours, lines])
}
