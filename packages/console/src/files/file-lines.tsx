import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useRef } from 'react'
import { printable } from '../ui/printable.ts'
import { lineCharacters } from './file-text.ts'
import type { Piece } from './highlight.ts'

interface FileLinesProps {
  readonly label: string
  readonly lines: readonly string[]
  /** Colours of each line; null while they are not known. */
  readonly colours: readonly (readonly Piece[])[] | null
  readonly wrap: boolean
  /** The line that somebody pointed at, from 1. */
  readonly line: number | undefined
  /** Absent if lines cannot be pointed at. */
  readonly onLine?: (line: number) => void
}

const lineHeight = 20
const around = 6

/** The lines of a file, of which only those in view are drawn. It begins at the line that was pointed at. */
export function FileLines({ label, lines, colours, wrap, line, onLine }: FileLinesProps) {
  const scroller = useRef<HTMLDivElement | null>(null)
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => lineHeight,
    overscan: 30,
    paddingStart: 8,
    paddingEnd: 8,
    initialOffset: line === undefined ? 0 : Math.max(0, (line - 1 - around) * lineHeight),
  })
  const items = virtualizer.getVirtualItems()
  const digits = { width: `${String(lines.length).length + 2}ch` }
  return (
    <div
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label={label}
      className="h-full overflow-auto font-mono text-xs leading-5 -outline-offset-2"
    >
      <div className={wrap ? 'relative' : 'relative w-max min-w-full'} style={{ height: virtualizer.getTotalSize() }}>
        <div
          className={wrap ? 'absolute inset-x-0 top-0' : 'w-max min-w-full'}
          style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}
        >
          {items.map(({ index }) => (
            <div
              key={index}
              ref={virtualizer.measureElement}
              data-index={index}
              data-line={index + 1}
              className={`flex min-h-5 pr-4 ${line === index + 1 ? 'bg-accent-soft shadow-[inset_2px_0_0_var(--accent)]' : ''}`}
            >
              <button
                type="button"
                tabIndex={-1}
                aria-label={`Point at line ${index + 1}`}
                disabled={onLine === undefined}
                onClick={() => onLine?.(index + 1)}
                style={digits}
                className="mr-3 shrink-0 pl-2 text-right text-ink-3 tabular-nums select-none hover:text-accent"
              >
                {index + 1}
              </button>
              <span className={wrap ? 'min-w-0 [overflow-wrap:anywhere] whitespace-pre-wrap' : 'whitespace-pre'}>
                <Line text={lines[index] ?? ''} pieces={colours?.[index]} />
              </span>
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}

/** One line; of an endless one only the beginning, since no browser draws it in time. */
const Line = memo(function Line({ text, pieces }: { text: string; pieces: readonly Piece[] | undefined }) {
  const withoutReturn = text.endsWith('\r') ? text.slice(0, -1) : text
  if (withoutReturn.length > lineCharacters) {
    const rest = withoutReturn.length - lineCharacters
    return (
      <>
        {printable(withoutReturn.slice(0, lineCharacters))}
        <span className="ml-2 rounded bg-warning-soft px-1.5 text-warning select-none">
          … {rest.toLocaleString('en')} more characters
        </span>
      </>
    )
  }
  if (pieces === undefined) return printable(withoutReturn)
  return pieces.map((piece, at) => (
    <span key={at} className={piece.className}>
      {printable(piece.text.endsWith('\r') ? piece.text.slice(0, -1) : piece.text)}
    </span>
  ))
})
