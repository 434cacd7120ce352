import type { Review } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem, LoadingLines } from '../ui/states.tsx'
import { parsePatch } from './patch.ts'
import { everyLine, readReviewFile } from './queries.ts'
import { type DifferentFile, differentFiles, leadToSame, textOf } from './revision-difference.ts'

const LineDiff = lazy(() => import('../transcript/line-diff.tsx'))

interface Compared {
  readonly sessionId: string
  /** The Session of the first revision, if it is another one. */
  readonly beforeId?: string
  readonly before: Review
  readonly now: Review
  readonly labels?: Labels
}

/** How the two revisions are called: if no file differs, and of a file that one or both of them have. */
interface Labels {
  readonly none: string
  readonly before: string
  readonly now: string
  readonly both: string
}

const sinceRead: Labels = {
  none: 'It is another revision, although no file could be seen to differ. Read the changes again.',
  before: 'no longer changed',
  now: 'newly changed',
  both: 'changed again',
}

/** The differences between two revisions of a Session's changes, or of the changes of two Sessions, file by file. */
export function ChangedSince(props: Compared) {
  const files = differentFiles(props.before, props.now)
  if (files.length === 0)
    return (
      <p className="text-[0.8125rem] text-ink-2">
        {props.before.revision === props.now.revision && props.labels === undefined
          ? 'No file differs from what you read.'
          : (props.labels ?? sinceRead).none}
      </p>
    )
  return (
    <ul
      aria-label={props.labels === undefined ? 'Changed since you read' : 'Files that differ'}
      className="flex flex-col gap-1.5"
    >
      {files.map(file => (
        <ChangedFile key={file.path} file={file} {...props} />
      ))}
    </ul>
  )
}

function ChangedFile(props: Compared & { file: DifferentFile }) {
  const { file } = props
  const [open, setOpen] = useState(false)
  return (
    <li className="overflow-hidden rounded-md border border-line">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex h-9 w-full items-center gap-2 bg-surface px-2 text-left text-xs hover:bg-hover"
      >
        <ChevronRight className={`size-3.5 shrink-0 text-ink-3 ${open ? 'rotate-90' : ''}`} aria-hidden />
        <code className="min-w-0 flex-1 truncate font-mono">{printableLine(file.path)}</code>
        <span className="shrink-0 text-ink-3">{labelOf(file, props.labels ?? sinceRead)}</span>
      </button>
      {open && <Lines {...props} />}
    </li>
  )
}

const labelOf = ({ before, now, compared }: DifferentFile, labels: Labels) => {
  if (!compared) return 'could not be compared'
  return before === null ? labels.now : now === null ? labels.before : labels.both
}

function Lines({ sessionId, beforeId = sessionId, before, now, file }: Compared & { file: DifferentFile }) {
  const texts = useQuery({
    queryKey: ['session', sessionId, 'between', beforeId, before.revision, now.revision, file.path],
    // Two revisions stay as they are; only lines that were not there may come.
    staleTime: ({ state }) => (state.data === null ? 0 : Number.POSITIVE_INFINITY),
    queryFn: async () => {
      const read = async (id: string, { revision }: Review, at: number | null) => {
        if (at === null) return null
        const { patch, expandable, truncated } = await readReviewFile(id, revision, at, everyLine)
        // Without every line there is nothing to compare.
        return expandable && !truncated && patch !== null ? parsePatch(patch)[0] : undefined
      }
      const [old, fresh] = await Promise.all([read(beforeId, before, file.before), read(sessionId, now, file.now)])
      if (old === undefined || fresh === undefined) return null
      // A revision that leaves the file alone has it as it was before all changes.
      return {
        same: old !== null && fresh !== null && leadToSame(old, fresh),
        oldText: old === null ? textOf(fresh ?? undefined, 'before') : textOf(old, 'after'),
        newText: fresh === null ? textOf(old ?? undefined, 'before') : textOf(fresh, 'after'),
      }
    },
  })
  if (texts.isError) return <InlineProblem error={texts.error} />
  if (texts.data === undefined) return <LoadingLines label="the lines" lines={3} />
  if (texts.data === null)
    return <p className="p-2.5 text-xs text-ink-3">The lines of this file are not kept whole; read the new revision.</p>
  if (texts.data.oldText === texts.data.newText)
    return (
      <p className="p-2.5 text-xs text-ink-3">
        {texts.data.same
          ? 'This file is the same in both revisions.'
          : 'No line of text differs: the file is binary, or its name, mode or last line break changed.'}
      </p>
    )
  return (
    <Suspense fallback={<LoadingLines label="the lines" lines={3} />}>
      <LineDiff file={{ path: file.path, oldText: texts.data.oldText, newText: texts.data.newText }} />
    </Suspense>
  )
}
