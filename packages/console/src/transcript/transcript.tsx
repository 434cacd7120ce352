import type { Preview } from '@berth/client'
import type { Row } from '@berth/client/transcript'
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, LoaderCircle } from 'lucide-react'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { logOf, useLog } from '../session/logs.ts'
import { LoadingLines } from '../ui/states.tsx'
import { foldPreparation } from './fold-preparation.ts'
import { unfold } from './open-rows.ts'
import { RowView } from './row-view.tsx'

/** Distance from an edge, in pixels, within which the reader counts as being there. */
const nearEnd = 60
const nearStart = 400

/** Heights before a row is measured; near the truth, so that the scroll bar hardly moves. */
const estimates: Readonly<Record<Row['kind'], number>> = {
  prompt: 72,
  reply: 120,
  steps: 30,
  end: 40,
  interaction: 30,
  notice: 28,
  artifact: 46,
  live: 60,
}

/** Marks the log once the pointer moves in it: rows that pass below one that rests must not light up in turn. */
const pointed = 'data-pointed'

const overscan = 8

/** Rows leave the page several at once: each change of the page is a frame to lay out, paint and hand over. */
function drawnOf(range: Range): number[] {
  return defaultRangeExtractor({ ...range, startIndex: range.startIndex - (range.startIndex % overscan) })
}

/** Returns the place of the row that tells an Event; -1 if none does. */
function rowAt(rows: readonly Row[], event: number | undefined): number {
  return event === undefined ? -1 : rows.findLastIndex(row => row.kind !== 'live' && row.sequence <= event)
}

function liveRow({ role, text }: NonNullable<Preview['message']>, last: Row | undefined): Row {
  const { sequence = 0, at = '', runId = null } = last ?? {}
  return { kind: 'live', key: 'live', sequence, at, runId, role, text }
}

/**
 * A Session's log as people read it, from its end or at an Event. The virtualizer is the only owner of the scroll position: it keeps the row that is
 * being read where it is, and stays at the end if the reader is there.
 */
export function Transcript({ sessionId, event }: { sessionId: string; event: number | undefined }) {
  const logged = useLog(sessionId, snapshot => snapshot.view.rows)
  const message = useLog(sessionId, snapshot => snapshot.preview?.message)
  const folded = useMemo(() => foldPreparation(logged), [logged])
  const rows = useMemo(
    () => (message === undefined ? folded : [...folded, liveRow(message, folded.at(-1))]),
    [folded, message],
  )
  // A new function has every row's place reckoned anew, and scrolling renders more often than rows change.
  const getItemKey = useCallback((index: number) => rows[index]?.key ?? index, [rows])
  const ready = useLog(sessionId, snapshot => snapshot.ready)
  const loadingOlder = useLog(sessionId, snapshot => snapshot.loadingOlder)
  const scroller = useRef<HTMLDivElement | null>(null)
  const [atEnd, setAtEnd] = useState(true)
  const reading = useRef(true)
  const height = useRef(0)
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey,
    estimateSize: index => estimates[rows[index]?.kind ?? 'notice'],
    overscan,
    rangeExtractor: drawnOf,
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: nearEnd,
    paddingStart: 16,
    paddingEnd: 16,
    initialOffset: Number.MAX_SAFE_INTEGER,
  })

  /** Keeps a reader at the end there when the box below grows. */
  const keepAtEnd = (element: HTMLDivElement | null) => {
    scroller.current = element
    if (element === null) return
    const observer = new ResizeObserver(() => {
      const last = virtualizer.options.count - 1
      if (reading.current && last >= 0) virtualizer.scrollToIndex(last, { align: 'end' })
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      scroller.current = null
    }
  }
  const [attach] = useState(() => keepAtEnd)
  const onScroll = () => {
    const element = scroller.current
    if (element === null) return
    element.removeAttribute(pointed)
    // A box that has just shrunk has not been scrolled by anybody.
    const end = element.scrollHeight - element.scrollTop - element.clientHeight <= nearEnd
    if (end || element.clientHeight === height.current) reading.current = end
    height.current = element.clientHeight
    setAtEnd(reading.current)
    if (element.scrollTop < nearStart) void logOf(sessionId).loadOlder()
  }
  const [shown, setShown] = useState<number | null>(null)
  useEffect(() => {
    if (!ready || event === undefined) return
    let gone = false
    reading.current = false
    void logOf(sessionId)
      .reach(event)
      .then(reached => {
        if (!gone && reached) setShown(event)
      })
    return () => {
      gone = true
    }
  }, [ready, event, sessionId])
  const latest = useRef({ rows, virtualizer })
  latest.current = { rows, virtualizer }
  useLayoutEffect(() => {
    if (shown === null) return
    const { rows, virtualizer } = latest.current
    const at = rowAt(rows, shown)
    if (at === -1) return
    if (rows[at]?.kind === 'steps' || rows[at]?.kind === 'prompt') unfold(`${sessionId}/${rows[at].key}`)
    virtualizer.scrollToIndex(at, { align: 'center' })
  }, [shown, sessionId])
  const sought = event === shown ? rows[rowAt(rows, event)] : undefined
  if (!ready) return <LoadingLines label="the transcript" lines={9} />
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={attach}
        onScroll={onScroll}
        onMouseMove={event => event.currentTarget.setAttribute(pointed, '')}
        tabIndex={0}
        role="log"
        aria-label="Transcript"
        aria-live="off"
        className="h-full overflow-y-auto -outline-offset-2 [overflow-anchor:none]"
      >
        {loadingOlder && (
          <p role="status" className="late absolute inset-x-0 top-2 z-10 flex justify-center text-ink-3">
            <LoaderCircle className="size-4 animate-spin" aria-hidden />
            <span className="sr-only">Loading earlier Events</span>
          </p>
        )}
        <div className="relative mx-auto w-full max-w-3xl" style={{ height: virtualizer.getTotalSize() }}>
          {virtualizer.getVirtualItems().map(item => {
            const row = rows[item.index]
            if (row === undefined) return null
            return (
              <div
                key={item.key}
                ref={virtualizer.measureElement}
                data-index={item.index}
                data-sequence={row.sequence}
                aria-current={row === sought ? 'location' : undefined}
                className="absolute inset-x-0 top-0 px-4 before:absolute before:inset-y-0 before:left-1 before:w-0.5 before:rounded aria-[current]:before:bg-accent lg:px-6"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <RowView row={row} sessionId={sessionId} />
              </div>
            )
          })}
        </div>
        {rows.length === 0 && <p className="px-6 py-12 text-center text-ink-3">Nothing has happened yet.</p>}
      </div>
      {!atEnd && (
        <button
          type="button"
          onClick={() => virtualizer.scrollToIndex(rows.length - 1, { align: 'end' })}
          className="absolute bottom-3 left-1/2 inline-flex h-8 -translate-x-1/2 items-center gap-1.5 rounded-full border border-line-strong bg-raised px-3.5 text-[0.8125rem] shadow-float hover:bg-hover"
        >
          <ArrowDown className="size-3.5" aria-hidden /> Jump to latest
        </button>
      )}
    </div>
  )
}
