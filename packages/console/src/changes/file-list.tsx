import type { Review, ReviewFile } from '@berth/client'
import { Check, ChevronRight } from 'lucide-react'
import { useMemo, useState } from 'react'
import { printableLine } from '../ui/printable.ts'
import { DiffLines } from './diff-lines.tsx'
import { type FilePatch, parsePatch } from './patch.ts'
import { useViewed } from './viewed.ts'

/** More lines than this are drawn only when asked for. */
const drawnLines = 2_000

const statuses: Readonly<Record<ReviewFile['status'], readonly [letter: string, tone: string]>> = {
  added: ['A', 'text-good'],
  modified: ['M', 'text-warning'],
  deleted: ['D', 'text-bad'],
  renamed: ['R', 'text-accent'],
}

/** The files of a review with their changes. A viewed file is folded, until it changes. */
export function FileList({ review }: { review: Review }) {
  const patches = useMemo(() => new Map(parsePatch(review.patch).map(file => [file.path, file])), [review.patch])
  return (
    <div className="flex flex-col gap-3 p-3">
      {review.patchTruncated && (
        <p className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
          The changes exceed 1 MiB, so the last files are listed without their lines.
        </p>
      )}
      {review.files.map(file => (
        <FileCard key={file.path} file={file} patch={patches.get(file.path)} />
      ))}
    </div>
  )
}

function FileCard({ file, patch }: { file: ReviewFile; patch: FilePatch | undefined }) {
  const [viewed, setViewed] = useViewed(file.path, JSON.stringify(patch?.hunks ?? null))
  const [folded, setFolded] = useState<boolean | null>(null)
  const lines = patch?.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0) ?? 0
  const closed = folded ?? (viewed || lines > drawnLines)
  const [letter, tone] = statuses[file.status]
  const path = printableLine(file.path)
  return (
    <section aria-label={path} className="rounded-lg border border-line">
      <header className="sticky top-0 z-10 flex min-h-9 items-center gap-2 rounded-t-lg border-b border-line bg-surface px-2">
        <button
          type="button"
          aria-expanded={!closed}
          onClick={() => setFolded(!closed)}
          className="flex min-w-0 flex-1 items-center gap-2 py-1.5 text-left"
        >
          <ChevronRight className={`size-3.5 shrink-0 text-ink-3 ${closed ? '' : 'rotate-90'}`} aria-hidden />
          <span className={`shrink-0 font-mono text-xs font-semibold ${tone}`} title={file.status}>
            {letter}
            <span className="sr-only"> {file.status}</span>
          </span>
          <code className="min-w-0 truncate font-mono text-xs">
            {file.previousPath !== undefined && (
              <span className="text-ink-3">{printableLine(file.previousPath)} → </span>
            )}
            {path}
          </code>
        </button>
        <span className="shrink-0 text-xs tabular-nums">
          <span className="text-good">+{file.additions}</span> <span className="text-bad">−{file.deletions}</span>
        </span>
        <label className="flex shrink-0 items-center gap-1.5 rounded-md px-1.5 py-1 text-xs text-ink-2 hover:bg-hover has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-accent">
          <input
            type="checkbox"
            className="sr-only"
            checked={viewed}
            onChange={event => {
              setViewed(event.target.checked)
              setFolded(null)
            }}
          />
          <Check className="size-3.5" aria-hidden /> Viewed
        </label>
      </header>
      {!closed && <FileBody file={file} patch={patch} path={path} />}
    </section>
  )
}

function FileBody({ file, patch, path }: { file: ReviewFile; patch: FilePatch | undefined; path: string }) {
  if (patch !== undefined && patch.hunks.length > 0)
    return <DiffLines hunks={patch.hunks} label={`Changes of ${path}`} />
  const why = file.binary
    ? 'A binary file.'
    : file.additions + file.deletions === 0
      ? 'Only its name or mode changed.'
      : 'Its lines are beyond the part of the patch that is shown.'
  return <p className="px-3 py-2.5 text-xs text-ink-3">{why}</p>
}
