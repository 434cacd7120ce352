import type { SessionMatch, SessionMatchPage } from '@berth/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ArrowDown, ArrowUp, Search, X } from 'lucide-react'
import { type KeyboardEvent, type RefObject, useDeferredValue, useState } from 'react'
import { call } from '../api/client.ts'
import { type SessionSearch, to } from '../routing/to.ts'
import { IconButton } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { useSettled } from '../ui/settled.ts'
import { InlineProblem } from '../ui/states.tsx'

/** So many parts of a log are searched before somebody has to ask for more. */
const maxParts = 25

/** Typing pauses so long before the service is asked. */
const pauseMs = 250

const matchesQuery = (sessionId: string, q: string) => ({
  queryKey: ['session', sessionId, 'search', q],
  enabled: q !== '',
  staleTime: 5_000,
  initialPageParam: 0,
  queryFn: async ({ pageParam, signal }: { pageParam: number; signal: AbortSignal }) => {
    let before = pageParam
    for (let part = 1; ; part++) {
      const query = new URLSearchParams({ q, ...(before === 0 ? {} : { before: String(before) }) })
      const page = await call<SessionMatchPage>('GET', `sessions/${sessionId}/search?${query}`, undefined, signal)
      // A part of the log without a place is no end of the search.
      if (page.matches.length > 0 || page.before === null || part === maxParts) return page
      before = page.before
    }
  },
  getNextPageParam: (page: SessionMatchPage) => page.before ?? undefined,
})

/** The text that was typed before this code came has its end under the cursor. */
function focus(input: HTMLInputElement | null) {
  input?.focus()
  input?.setSelectionRange(input.value.length, input.value.length)
}

/**
 * Searches the whole log of a Session, also unloaded pages, and goes from match to match.
 * @param props `typed` is what it begins with
 */
export function FindBar(props: {
  sessionId: string
  search: SessionSearch
  typed: RefObject<string>
  onClose: () => void
}) {
  const { sessionId, search, typed, onClose } = props
  const navigate = useNavigate()
  const [text, setText] = useState(() => typed.current)
  const [at, setAt] = useState<number | null>(null)
  const searched = useSettled(text.trim(), pauseMs)
  const list = useInfiniteQuery(matchesQuery(sessionId, searched))
  const matches = useDeferredValue(list.data?.pages.flatMap(page => page.matches) ?? [])
  const show = (index: number) => {
    const match = matches[index]
    if (match === undefined) return
    setAt(index)
    if (index >= matches.length - 2 && list.hasNextPage) void list.fetchNextPage()
    void navigate({ ...to.session(sessionId, { ...search, event: match.sequence }), replace: true })
  }
  // The newest come first, so the one before in the list is the later one in the log.
  const older = () => show(at === null ? 0 : Math.min(at + 1, matches.length - 1))
  const newer = () => show(Math.max((at ?? 1) - 1, 0))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') onClose()
    else if (event.key === 'ArrowDown' || (event.key === 'Enter' && !event.shiftKey)) older()
    else if (event.key === 'ArrowUp' || event.key === 'Enter') newer()
    else return
    event.preventDefault()
  }
  const status = (): string => {
    if (searched === '') return ''
    if (matches.length === 0) return list.isFetching ? 'Searching\u2026' : 'Nothing found'
    return `${at === null ? '' : `${at + 1} of `}${matches.length}${list.hasNextPage ? '+' : ''}`
  }
  return (
    <search className="border-b border-line bg-surface" aria-label="In this Session">
      <div className="flex items-center gap-2 px-3 py-1.5 lg:px-6">
        <Search className="size-4 shrink-0 text-ink-3" aria-hidden />
        <input
          type="search"
          ref={focus}
          aria-label="Find in this Session"
          placeholder="Find in this Session"
          value={text}
          maxLength={200}
          onChange={event => {
            setText(event.target.value)
            setAt(null)
          }}
          onKeyDown={onKeyDown}
          className="min-w-0 flex-1 bg-transparent py-1 text-sm outline-none max-lg:text-base"
        />
        <span role="status" className="shrink-0 text-xs text-ink-3 tabular-nums">
          {status()}
        </span>
        <IconButton label="Earlier place" onClick={older} disabled={matches.length === 0}>
          <ArrowUp className="size-4" aria-hidden />
        </IconButton>
        <IconButton label="Later place" onClick={newer} disabled={at === null || at === 0}>
          <ArrowDown className="size-4" aria-hidden />
        </IconButton>
        <IconButton label="Close the search" onClick={onClose}>
          <X className="size-4" aria-hidden />
        </IconButton>
      </div>
      <InlineProblem error={list.error} />
      {matches.length > 0 && (
        <ol aria-label="Places" className="max-h-40 overflow-y-auto border-t border-line py-1">
          {matches.map((match, index) => (
            <li key={match.sequence}>
              <button
                type="button"
                aria-current={index === at || undefined}
                onClick={() => show(index)}
                className="flex min-h-7 w-full items-center px-3 text-left text-[0.8125rem] -outline-offset-2 hover:bg-hover aria-current:bg-selected max-lg:min-h-9 lg:px-6"
              >
                <Place match={match} />
              </button>
            </li>
          ))}
        </ol>
      )}
    </search>
  )
}

function Place({ match: { excerpt } }: { match: SessionMatch }) {
  return (
    <span className="min-w-0 truncate text-ink-2">
      {printableLine(excerpt.before)}
      <mark className="rounded-xs bg-warning-soft text-ink">{printableLine(excerpt.match)}</mark>
      {printableLine(excerpt.after)}
    </span>
  )
}
