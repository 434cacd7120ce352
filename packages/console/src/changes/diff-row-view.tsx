import { signalLabel } from '@berth/contract/signal-labels'
import { ChevronsUpDown, MessageSquarePlus, TriangleAlert } from 'lucide-react'
import { Button } from '../ui/button.tsx'
import { counted } from '../ui/format.ts'
import { printable, printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import { CodeText } from './code-text.tsx'
import { CommentRow } from './comment-row.tsx'
import type { DiffRow } from './diff-rows.ts'
import { pairLines } from './diff-rows.ts'
import { FileHeader } from './file-header.tsx'
import { changedWithin, type Span } from './line-parts.ts'
import type { DiffLine, Hunk } from './patch.ts'
import type { Signal } from './signal-lines.ts'
import type { ReviewFiles } from './use-review-files.ts'

export interface RowContext {
  readonly sessionId: string
  readonly review: ReviewFiles
  readonly wrap: boolean
  readonly cursor: string | null
  /** Place of the file that keys act on. */
  readonly current: number
  readonly coloursOf: (path: string) => (hunk: Hunk, line: DiffLine) => readonly Span[]
  readonly onComment: (at: number, line: DiffLine, side: 'before' | 'after') => void
}

/** One row of a diff. */
export function DiffRowView({ row, context }: { row: DiffRow; context: RowContext }) {
  const { review } = context
  const file = review.files[row.at]
  if (file === undefined) return null
  if (row.kind === 'file') {
    return (
      <FileHeader
        file={file}
        current={context.current === row.at}
        onFold={folded => review.fold(row.at, folded)}
        onView={viewed => review.view(row.at, viewed)}
      />
    )
  }
  if (row.kind === 'end') return <div className="h-4" />
  if (row.kind === 'note') return <p className="px-3 py-2 font-sans text-xs text-ink-3">{row.text}</p>
  if (row.kind === 'load') {
    return (
      <div className="flex flex-wrap items-center gap-3 px-3 py-2.5 font-sans text-xs text-ink-3">
        These lines are beyond the first mebibyte.
        <Button busy={review.reading === row.at} onClick={() => review.load(row.at)}>
          Show the lines
        </Button>
        <InlineProblem error={file.problem} />
      </div>
    )
  }
  if (row.kind === 'large') {
    const lines = file.file.additions + file.file.deletions
    return (
      <div className="flex flex-wrap items-center gap-3 px-3 py-2.5 font-sans text-xs text-ink-3">
        A large change: {counted(lines, 'line')}.<Button onClick={() => review.draw(row.at)}>Show it</Button>
      </div>
    )
  }
  if (row.kind === 'comment') return <CommentRow sessionId={context.sessionId} placed={row.placed} />
  if (row.kind === 'signal') return <SignalNote signal={row.signal} review={review} />
  if (row.kind === 'gap') return <Gap row={row} context={context} />
  return row.kind === 'line' ? <UnifiedRow row={row} context={context} /> : <SplitRow row={row} context={context} />
}

/** So many lines are shown at a press. */
const step = 20

function Gap({ row, context }: { row: DiffRow & { kind: 'gap' }; context: RowContext }) {
  const { from, to } = row.range
  const hiddenLines = to === null ? null : to - from + 1
  const { review } = context
  const press = (range: typeof row.range) => () => review.reveal(row.at, range)
  const busy = review.reading === row.at
  const className = 'h-full px-2 text-ink-2 hover:bg-hover hover:text-ink disabled:opacity-60'
  return (
    <div className="flex h-7 items-center border-y border-line bg-surface font-sans text-2xs text-ink-3">
      <ChevronsUpDown className="mx-2 size-3.5 shrink-0" aria-hidden />
      {hiddenLines !== null && hiddenLines <= 2 * step ? (
        <button type="button" disabled={busy} onClick={press(row.range)} className={className}>
          Show {counted(hiddenLines, 'line')}
        </button>
      ) : (
        <>
          <button type="button" disabled={busy} onClick={press({ from, to: from + step - 1 })} className={className}>
            {step} below
          </button>
          {to !== null && (
            <button type="button" disabled={busy} onClick={press({ from: to - step + 1, to })} className={className}>
              {step} above
            </button>
          )}
          <button type="button" disabled={busy} onClick={press(row.range)} className={className}>
            {hiddenLines === null ? 'To the end' : `All ${hiddenLines.toLocaleString('en')}`}
          </button>
        </>
      )}
      <code className="min-w-0 flex-1 truncate px-2 font-mono">{printable(row.heading)}</code>
    </div>
  )
}

/** A fact of the line above that readers must not miss; the list of signals has it as well. */
function SignalNote({ signal, review }: { signal: Signal; review: ReviewFiles }) {
  const { kind, path, detail } = signal
  const seen = review.hasSeen(signal)
  return (
    <div
      className={`flex min-h-6.5 items-center gap-2 border-y px-3 font-sans text-xs ${seen ? 'border-line bg-surface text-ink-3' : 'border-warning-line bg-warning-soft text-ink'}`}
    >
      <TriangleAlert className={`size-3.5 shrink-0 ${seen ? '' : 'text-warning'}`} aria-hidden />
      <span className="min-w-0 flex-1 wrap-anywhere">
        {signalLabel(kind)}
        {detail !== undefined && <span className="text-ink-3"> {printableLine(detail)}</span>}
      </span>
      <label className="flex min-h-6 shrink-0 cursor-pointer items-center gap-1.5 text-ink-2">
        <input
          type="checkbox"
          className="accent-accent"
          aria-label={`Seen at its line: ${signalLabel(kind)}, ${printableLine(path)}`}
          checked={seen}
          onChange={event => review.see(signal, event.target.checked)}
        />
        <span aria-hidden>Seen</span>
      </label>
    </div>
  )
}

const grounds = { context: '', added: 'bg-diff-added', removed: 'bg-diff-removed' } as const
const strong = { context: '', added: 'bg-diff-added-strong', removed: 'bg-diff-removed-strong' } as const
const signs = { context: ' ', added: '+', removed: '−' } as const

/** The changed parts within the lines of a hunk, found when one of them is first drawn. */
const emphasis = new WeakMap<Hunk, ReadonlyMap<DiffLine, readonly Span[]>>()

function changesOf(hunk: Hunk): ReadonlyMap<DiffLine, readonly Span[]> {
  const known = emphasis.get(hunk)
  if (known !== undefined) return known
  const found = new Map<DiffLine, readonly Span[]>()
  // Comparing words takes longer than drawing them; a rewritten file has no words in common anyway.
  if (hunk.lines.length < 3_000) {
    for (const [left, right] of pairLines(hunk.lines)) {
      if (left === null || right === null || left === right) continue
      const [before, after] = changedWithin(left.text, right.text)
      found.set(left, before).set(right, after)
    }
  }
  emphasis.set(hunk, found)
  return found
}

function Code({ line, hunk, row, context }: { line: DiffLine; hunk: Hunk; row: DiffRow; context: RowContext }) {
  const path = context.review.files[row.at]?.file.path ?? ''
  const changes = changesOf(hunk).get(line)
  return (
    <CodeText
      text={line.text}
      spans={context.coloursOf(path)(hunk, line)}
      {...(changes !== undefined && { changes })}
      strong={strong[line.kind]}
    />
  )
}

/** The number of a line, which begins a comment. Keyboards reach it by the arrows and Enter. */
function LineNumber(props: { number: number | null; label: string; onPress: () => void; className?: string }) {
  if (props.number === null) return <span className={`w-11 shrink-0 ${props.className ?? ''}`} />
  return (
    <button
      type="button"
      tabIndex={-1}
      aria-label={props.label}
      onClick={props.onPress}
      className={`group/number relative flex w-11 shrink-0 items-start justify-end self-stretch pr-1.5 text-ink-3 tabular-nums select-none hover:text-accent ${props.className ?? ''}`}
    >
      {props.number}
      <MessageSquarePlus
        aria-hidden
        className="absolute top-0.5 left-1 hidden size-3.5 text-accent group-hover/line:block group-hover/number:block"
      />
    </button>
  )
}

const cursorClass = 'outline-2 -outline-offset-2 outline-accent'

function UnifiedRow({ row, context }: { row: DiffRow & { kind: 'line' }; context: RowContext }) {
  const { line, hunk } = row
  const side = line.kind === 'removed' ? 'before' : 'after'
  const comment = () => context.onComment(row.at, line, side)
  const label = `Comment on ${line.kind === 'removed' ? 'removed ' : ''}line ${line[side] ?? ''}`
  return (
    <div
      className={`group/line flex min-h-5 ${grounds[line.kind]} ${context.cursor === row.key ? cursorClass : ''}`}
      data-line={line.kind}
    >
      <LineNumber
        number={line.before}
        label={label}
        onPress={comment}
        className={line.kind === 'removed' ? '' : 'max-sm:hidden'}
      />
      <LineNumber
        number={line.after}
        label={label}
        onPress={comment}
        className={line.kind === 'removed' ? 'max-sm:hidden' : ''}
      />
      <span aria-hidden className="w-5 shrink-0 text-center text-ink-3 select-none">
        {signs[line.kind]}
      </span>
      <span className={`min-w-0 flex-1 pr-3 ${context.wrap ? 'wrap-anywhere whitespace-pre-wrap' : 'whitespace-pre'}`}>
        {line.kind !== 'context' && <span className="sr-only">{line.kind}: </span>}
        <Code line={line} hunk={hunk} row={row} context={context} />
      </span>
    </div>
  )
}

function SplitRow({ row, context }: { row: DiffRow & { kind: 'pair' }; context: RowContext }) {
  const half = (line: DiffLine | null, side: 'before' | 'after') => (
    <div
      className={`group/line flex min-h-5 min-w-0 ${line === null ? 'bg-surface' : line.kind === 'context' ? '' : grounds[line.kind]} ${side === 'after' ? 'border-l border-line' : ''}`}
      {...(line !== null && { 'data-line': line.kind })}
    >
      {line !== null && (
        <>
          <LineNumber
            number={line[side]}
            label={`Comment on ${side === 'before' ? 'old ' : ''}line ${line[side] ?? ''}`}
            onPress={() => context.onComment(row.at, line, side)}
          />
          <span aria-hidden className="w-5 shrink-0 text-center text-ink-3 select-none">
            {signs[line.kind]}
          </span>
          <span className="min-w-0 flex-1 pr-3 wrap-anywhere whitespace-pre-wrap">
            {line.kind !== 'context' && <span className="sr-only">{line.kind}: </span>}
            <Code line={line} hunk={row.hunk} row={row} context={context} />
          </span>
        </>
      )}
    </div>
  )
  return (
    <div className={`grid grid-cols-2 ${context.cursor === row.key ? cursorClass : ''}`}>
      {half(row.left, 'before')}
      {half(row.right, 'after')}
    </div>
  )
}
