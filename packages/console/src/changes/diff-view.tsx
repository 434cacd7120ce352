import type { Review } from '@berth/client'
import { useVirtualizer } from '@tanstack/react-virtual'
import { Columns2, FoldVertical, Rows2, UnfoldVertical, WrapText } from 'lucide-react'
import { type KeyboardEvent, type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import { singleKeyOf } from '../shell/single-key.ts'
import { IconButton } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { useColours } from './colours.ts'
import { comments } from './comment-store.ts'
import { useDiffPreferences } from './diff-preferences.ts'
import { DiffRowView, type RowContext } from './diff-row-view.tsx'
import { type DiffRow, rowsOf } from './diff-rows.ts'
import { FileHeader } from './file-header.tsx'
import { quoteOf } from './line-comments.ts'
import type { DiffLine } from './patch.ts'
import { isLine, type LineOfFile } from './signal-lines.ts'
import { type ReviewFiles, useReviewFiles } from './use-review-files.ts'

/** Heights before a row is measured; near the truth, so that the scroll bar hardly moves. */
const estimates: Readonly<Record<DiffRow['kind'], number>> = {
  file: 36,
  load: 52,
  large: 52,
  end: 16,
  note: 32,
  gap: 28,
  line: 20,
  pair: 20,
  comment: 130,
  signal: 26,
}

/** Two columns need at least this width. */
const splitWidth = 720

/** Moves the view to a file, or to a changed line of it. */
export type GoToFile = RefObject<((at: number, line?: LineOfFile) => void) | null>

/** The changes of a review, file by file. Only the visible rows are in the page, however long the files are. */
export function DiffView(props: {
  sessionId: string
  review: Review
  goTo?: GoToFile
  /** Hears of the file that is in view. */
  onCurrent?: (at: number) => void
  /** Names this one of two on a page, which single keys cannot tell apart. */
  title?: string | undefined
}) {
  const { sessionId, onCurrent, title } = props
  const review = useReviewFiles(sessionId, props.review)
  const [{ split, wrap }, prefer] = useDiffPreferences()
  const [width, setWidth] = useState(0)
  const [cursor, setCursor] = useState<string | null>(null)
  // A file near the end cannot come to the top; the requested one is current until the reader scrolls.
  const [aimed, setAimed] = useState<number | null>(null)
  const scroller = useRef<HTMLDivElement | null>(null)
  const isSplit = split && width >= splitWidth
  const rows = useRows(review, isSplit)
  const coloursOf = useColours()
  const attach = useCallback((element: HTMLDivElement | null) => {
    scroller.current = element
    if (element === null) return
    setWidth(element.clientWidth)
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: index => rows[index]?.key ?? index,
    estimateSize: index => estimates[rows[index]?.kind ?? 'line'],
    overscan: 24,
  })
  const first = rows[virtualizer.range?.startIndex ?? 0]
  const goTo = (at: number) => {
    const index = rows.findIndex(row => row.kind === 'file' && row.at === at)
    if (index < 0) return
    setAimed(at)
    virtualizer.scrollToIndex(index, { align: 'start' })
  }
  const current = aimed ?? (first === undefined ? 0 : first.at + (first.kind === 'end' ? 1 : 0))
  const goToLine = (at: number, line?: LineOfFile) => {
    const index = line === undefined ? -1 : rows.findIndex(row => row.at === at && hasLine(row, line))
    const key = rows[index]?.key
    if (key === undefined) return goTo(at)
    setAimed(at)
    setCursor(key)
    virtualizer.scrollToIndex(index, { align: 'center' })
  }
  // The lines of a file that was folded are there only once it is drawn again.
  const [awaited, setAwaited] = useState<{ readonly at: number; readonly line: LineOfFile } | null>(null)
  useEffect(() => {
    if (awaited === null || review.files[awaited.at]?.folded !== false) return
    setAwaited(null)
    goToLine(awaited.at, awaited.line)
  })
  if (props.goTo !== undefined) {
    props.goTo.current = (at, line) => {
      if (line === undefined || review.files[at]?.folded !== true) return goToLine(at, line)
      setAwaited({ at, line })
      review.fold(at, false)
    }
  }
  useEffect(() => onCurrent?.(current), [current, onCurrent])
  const next = nextUnviewed(review, current)

  const commentOn = (at: number, line: DiffLine, side: 'before' | 'after') => {
    const number = line[side]
    const path = review.files[at]?.file.path
    if (number === null || path === undefined) return
    comments.put(sessionId, { id: crypto.randomUUID(), path, side, line: number, quote: quoteOf(line.text), body: '' })
  }
  const context: RowContext = {
    sessionId,
    review,
    wrap: wrap || isSplit,
    cursor,
    current,
    coloursOf,
    onComment: commentOn,
  }
  useFileKeys(title === undefined ? { review, current, goTo } : null)

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) {
      event.preventDefault()
      const from = rows.findIndex(row => row.key === cursor)
      let at = from === -1 ? (virtualizer.range?.startIndex ?? 0) : from + step
      while (rows[at] !== undefined && rows[at]?.kind !== 'line' && rows[at]?.kind !== 'pair') at += step
      const row = rows[at]
      if (row === undefined) return
      setCursor(row.key)
      virtualizer.scrollToIndex(at, { align: 'auto' })
    }
    if (event.key === 'Enter') {
      const row = rows.find(({ key }) => key === cursor)
      if (row?.kind === 'line') commentOn(row.at, row.line, row.line.kind === 'removed' ? 'before' : 'after')
      if (row?.kind === 'pair') {
        const line = row.right ?? row.left
        if (line !== null) commentOn(row.at, line, row.right === null ? 'before' : 'after')
      }
    }
  }
  const shown = virtualizer.getVirtualItems()
  const atTop = first === undefined || first.kind === 'end' ? undefined : review.files[first.at]
  return (
    <div className="flex min-h-0 min-w-0 flex-1 flex-col">
      <div className="flex h-9 shrink-0 items-center gap-0.5 border-b border-line px-2 text-xs text-ink-3">
        <span className="px-1.5 tabular-nums" role="status">
          {review.files.filter(({ viewed }) => viewed).length} of {review.files.length} viewed
        </span>
        {next !== null && next !== current && (
          <button
            type="button"
            title="Next unviewed file (u)"
            onClick={() => goTo(next)}
            className="h-7 rounded-md px-1.5 font-medium text-accent hover:bg-hover"
          >
            Next unviewed
          </button>
        )}
        <span className="ml-auto" />
        <IconButton
          label={review.files.every(({ folded }) => folded) ? 'Unfold all files' : 'Fold all files'}
          className="size-7!"
          onClick={() => review.foldAll(!review.files.every(({ folded }) => folded))}
        >
          {review.files.every(({ folded }) => folded) ? (
            <UnfoldVertical className="size-4" aria-hidden />
          ) : (
            <FoldVertical className="size-4" aria-hidden />
          )}
        </IconButton>
        <IconButton
          label={isSplit ? 'Two columns always wrap' : 'Wrap long lines'}
          aria-pressed={wrap || isSplit}
          disabled={isSplit}
          className={`size-7! ${wrap || isSplit ? 'text-accent!' : ''}`}
          onClick={() => prefer({ wrap: !wrap })}
        >
          <WrapText className="size-4" aria-hidden />
        </IconButton>
        <IconButton
          label={width < splitWidth ? 'Two columns need a wider window' : 'Two columns'}
          aria-pressed={isSplit}
          disabled={width < splitWidth}
          className={`size-7! ${isSplit ? 'text-accent!' : ''}`}
          onClick={() => prefer({ split: !split })}
        >
          {isSplit ? <Columns2 className="size-4" aria-hidden /> : <Rows2 className="size-4" aria-hidden />}
        </IconButton>
      </div>
      {review.markProblem !== null && (
        <div className="p-2">
          <InlineProblem error={review.markProblem} />
        </div>
      )}
      <div
        ref={attach}
        tabIndex={0}
        role="region"
        aria-label={title === undefined ? 'Changed lines' : `Changed lines: ${title}`}
        aria-keyshortcuts={`ArrowDown ArrowUp Enter${title === undefined ? ' n p u v' : ''}`}
        onKeyDown={onKeyDown}
        onWheel={() => setAimed(null)}
        onTouchMove={() => setAimed(null)}
        onPointerDown={() => setAimed(null)}
        className="relative min-h-0 flex-1 scroll-pt-9 overflow-auto font-mono text-xs leading-5 [overflow-anchor:none] [tab-size:4]"
      >
        {atTop !== undefined && (
          <div className="sticky top-0 left-0 z-10 h-0" style={{ width }}>
            <FileHeader
              file={atTop}
              current={current === first?.at}
              onFold={folded => {
                review.fold(first?.at ?? 0, folded)
                goTo(first?.at ?? 0)
              }}
              onView={viewed => {
                review.view(first?.at ?? 0, viewed)
                goTo(first?.at ?? 0)
              }}
            />
          </div>
        )}
        <div style={{ height: virtualizer.getTotalSize() }} className={wrap || isSplit ? '' : 'w-max min-w-full'}>
          <div style={{ paddingTop: shown[0]?.start ?? 0 }}>
            {shown.map(item => {
              const row = rows[item.index]
              if (row === undefined) return null
              const narrow = row.kind !== 'line' && row.kind !== 'pair'
              return (
                <div key={item.key} ref={virtualizer.measureElement} data-index={item.index}>
                  {narrow ? (
                    <div
                      className="sticky left-0"
                      style={{ width }}
                      inert={row.kind === 'file' && row.at === first?.at}
                    >
                      <DiffRowView row={row} context={context} />
                    </div>
                  ) : (
                    <DiffRowView row={row} context={context} />
                  )}
                </div>
              )
            })}
          </div>
        </div>
      </div>
    </div>
  )
}

const hasLine = (row: DiffRow, line: LineOfFile): boolean =>
  row.kind === 'line'
    ? isLine(line, row.line)
    : row.kind === 'pair' && (isLine(line, row.left) || isLine(line, row.right))

/** Returns the place of the next file that was not viewed, from the beginning again behind the last; null if there is none. */
function nextUnviewed({ files }: ReviewFiles, current: number): number | null {
  const left = files.flatMap(({ viewed }, at) => (viewed ? [] : [at]))
  return left.find(at => at > current) ?? left[0] ?? null
}

/** The rows, made again only if their inputs have changed. */
function useRows({ files }: ReviewFiles, split: boolean): readonly DiffRow[] {
  const parts = files.flatMap(file => [
    ...[file.patch, file.whole, file.revealed, file.folded, file.drawn],
    ...[file.signals],
  ])
  // Rows do not depend on the text of a comment: typing must not make a hundred thousand of them again.
  const ids = files.flatMap(({ comments: made }) => made.map(({ id }) => id))
  const [made, setMade] = useState<{ of: readonly unknown[]; rows: readonly DiffRow[] }>({ of: [null], rows: [] })
  const of = [split, ...parts, ...ids]
  const same = of.length === made.of.length && of.every((part, at) => part === made.of[at])
  if (same) return made.rows
  const rows = rowsOf(files, split)
  setMade({ of, rows })
  return rows
}

/** `n` and `p` go to the next file and the one before, `u` to the next unviewed one; `v` marks the one on screen. */
function useFileKeys(view: { review: ReviewFiles; current: number; goTo: (at: number) => void } | null) {
  const now = useRef(view)
  useEffect(() => {
    now.current = view
  })
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (now.current === null) return
      const { review, current, goTo } = now.current
      const key = singleKeyOf(event)
      if (key === 'n') goTo(Math.min(current + 1, review.files.length - 1))
      if (key === 'p') goTo(Math.max(0, current - 1))
      if (key === 'u') goTo(nextUnviewed(review, current) ?? current)
      if (key === 'v') {
        review.view(current, review.files[current]?.viewed !== true)
        goTo(current)
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}
