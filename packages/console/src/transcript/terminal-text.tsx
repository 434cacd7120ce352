import { formatBytes } from '@berth/client/transcript'
import { useMemo, useState } from 'react'
import { printable } from '../ui/printable.ts'
import { parseAnsi } from './ansi.ts'

/** More than this is drawn only when asked for: a line of 4 MB stops a browser. */
const drawn = 40_000

/** Must stay the same function: a new one would take a reader to the end with each render. */
function toEnd(node: HTMLElement | null): void {
  if (node !== null) node.scrollTop = node.scrollHeight
}

/** A tool's output, in the colours of a terminal; `atEnd` scrolls to its end, where most of them tell how they went. */
export function TerminalText(props: { text: string; atEnd?: boolean; className?: string; label?: string }) {
  const { text, atEnd = false, className = 'max-h-80', label } = props
  const [whole, setWhole] = useState(false)
  const shown = whole ? text : text.slice(-drawn)
  const spans = useMemo(() => parseAnsi(shown), [shown])
  return (
    <div>
      {shown.length < text.length && (
        <button type="button" onClick={() => setWhole(true)} className="px-2.5 py-1.5 text-xs text-accent underline">
          Show all {formatBytes(text.length)}
        </button>
      )}
      <pre
        tabIndex={0}
        {...(label !== undefined && { role: 'region', 'aria-label': label })}
        ref={atEnd ? toEnd : undefined}
        className={`${className} overflow-auto px-2.5 py-2 font-mono text-xs leading-relaxed whitespace-pre-wrap`}
      >
        {spans.map((span, at) => (
          <span key={at} className={span.classes}>
            {printable(span.text)}
          </span>
        ))}
      </pre>
    </div>
  )
}
