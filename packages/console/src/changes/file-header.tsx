import type { ReviewFile } from '@berth/client'
import { ChevronRight, TriangleAlert } from 'lucide-react'
import { printableLine } from '../ui/printable.ts'
import { modeWord } from './diff-rows.ts'
import type { ReviewedFile } from './use-review-files.ts'

export const statusStyle: Readonly<Record<ReviewFile['status'], readonly [letter: string, tone: string]>> = {
  added: ['A', 'text-good'],
  modified: ['M', 'text-warning'],
  deleted: ['D', 'text-bad'],
  renamed: ['R', 'text-accent'],
}

/** Name, size and marks of one file of a review. */
export function FileHeader(props: {
  file: ReviewedFile
  /** Whether keys act on this file. */
  current: boolean
  onFold: (folded: boolean) => void
  onView: (viewed: boolean) => void
}) {
  const { file, folded, viewed, hidden } = props.file
  const [letter, tone] = statusStyle[file.status]
  const path = printableLine(file.path)
  const name = path.slice(path.lastIndexOf('/') + 1)
  return (
    <div
      className={`flex h-9 items-center gap-1.5 border-y border-line bg-surface pr-2 pl-1.5 font-sans ${props.current ? 'shadow-[inset_2px_0_0_var(--accent)]' : ''}`}
    >
      <button
        type="button"
        aria-expanded={!folded}
        onClick={() => props.onFold(!folded)}
        title={path}
        className="flex min-w-0 flex-1 items-center gap-2 self-stretch text-left"
      >
        <ChevronRight className={`size-3.5 shrink-0 text-ink-3 ${folded ? '' : 'rotate-90'}`} aria-hidden />
        <span className={`shrink-0 font-mono text-xs font-semibold ${tone}`} title={file.status}>
          {letter}
          <span className="sr-only"> {file.status}</span>
        </span>
        <code className="flex min-w-0 font-mono text-xs">
          {file.previousPath !== undefined && (
            <span className="min-w-0 truncate text-ink-3">{printableLine(file.previousPath)} →&nbsp;</span>
          )}
          <span className="min-w-0 truncate text-ink-3">{path.slice(0, path.length - name.length)}</span>
          <span className="shrink-0 font-medium max-sm:shrink max-sm:truncate">{name}</span>
          {file.target !== undefined && (
            <span className="min-w-0 truncate text-ink-3">&nbsp;→ {printableLine(file.target)}</span>
          )}
        </code>
      </button>
      {hidden && (
        <span
          className="inline-flex shrink-0 items-center gap-1 rounded border border-warning-line bg-warning-soft px-1.5 text-2xs text-warning"
          title="Some lines have characters that nobody sees or that change the reading order. They are spelt out."
        >
          <TriangleAlert className="size-3" aria-hidden /> hidden characters
        </span>
      )}
      {file.mode !== undefined && (
        <span className="shrink-0 font-mono text-2xs text-ink-3 max-sm:hidden" title={modeWord(file.mode)}>
          mode {file.previousMode !== undefined && `${file.previousMode} → `}
          {file.mode}
        </span>
      )}
      <span className="shrink-0 text-xs tabular-nums">
        {file.binary ? (
          <span className="text-ink-3">binary</span>
        ) : (
          <>
            {file.additions > 0 && <span className="text-good">+{file.additions.toLocaleString('en')}</span>}{' '}
            {file.deletions > 0 && <span className="text-bad">−{file.deletions.toLocaleString('en')}</span>}
          </>
        )}
      </span>
      <label
        className={`flex h-7 shrink-0 cursor-pointer items-center gap-1.5 rounded-md border px-1.5 text-xs has-focus-visible:outline-2 has-focus-visible:outline-accent ${viewed ? 'border-accent bg-accent-soft text-accent' : 'border-line-strong bg-raised text-ink-2 hover:bg-hover'}`}
      >
        <input
          type="checkbox"
          className="accent-accent"
          aria-label={`Viewed ${path}`}
          checked={viewed}
          onChange={event => props.onView(event.target.checked)}
        />
        <span aria-hidden className="max-sm:sr-only">
          Viewed
        </span>
      </label>
    </div>
  )
}
