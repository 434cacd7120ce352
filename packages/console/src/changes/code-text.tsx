import { memo, useState } from 'react'
import { hiddenParts } from '../ui/printable.ts'
import { partsOfLine, type Span, shownCharacters } from './line-parts.ts'

const none: readonly Span[] = []

/** The text of one line in its colours. Hidden characters are spelt out and marked; a very long line is cut. */
export const CodeText = memo(function CodeText(props: {
  text: string
  spans?: readonly Span[]
  changes?: readonly Span[]
  /** Background of the changed parts of a line. */
  strong?: string
}) {
  const { text, spans = none, changes = none, strong = '' } = props
  const [shown, setShown] = useState(shownCharacters)
  const line = text.endsWith('\r') ? text.slice(0, -1) : text
  const left = line.length - shown
  const parts = partsOfLine(left > 0 ? line.slice(0, shown) : line, spans, changes)
  return (
    <>
      {parts.map((part, at) => (
        <span key={at} className={`${part.className} ${part.changed ? `syntax-changed rounded-xs ${strong}` : ''}`}>
          {hiddenParts(part.text).map((piece, index) =>
            piece.isHidden ? (
              <mark key={index} className="mx-px rounded-sm bg-warning-soft px-0.5 text-warning not-italic">
                {piece.text}
              </mark>
            ) : (
              piece.text
            ),
          )}
        </span>
      ))}
      {text.endsWith('\r') && (
        <span className="text-ink-3 select-none" title="Carriage return">
          ␍
        </span>
      )}
      {left > 0 && (
        <button
          type="button"
          onClick={() => setShown(shown + 20_000)}
          className="ml-1.5 rounded border border-line-strong bg-raised px-1.5 font-sans text-2xs text-ink-2 hover:bg-hover"
        >
          {left.toLocaleString('en')} more characters
        </button>
      )}
    </>
  )
})
