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

/** The differences between two revisions of a Session's changes, file by file. */
export function ChangedSince(props: { sessionId: string; before: Review; now: Review }) {
  const files = differentFiles(props.before, props.now)
  if (files.length === 0)
    return (
      <p className="text-[0.8125rem] text-ink-2">
        {props.before.revision === props.now.revision
          ? 'No file differs from what you read.'
          : 'It is another revision, although no file could be seen to differ. Read the changes again.'}
      </p>
    )
  return (
    <ul aria-label="Changed since you read" className="flex flex-col gap-1.5">
      {files.map(file => (
        <ChangedFile key={file.path} file={file} {...props} />
      ))}
    </ul>
  )
}

function ChangedFile(props: { sessionId: string; before: Review; now: Review; file: DifferentFile }) {
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
        <span className="shrink-0 text-ink-3">{wordOf(file)}</span>
      </button>
      {open && <Lines {...props} />}
    </li>
  )
}

const wordOf = ({ before, now, compared }: DifferentFile) => {
  if (!compared) return 'could not be compared'
  return before === null ? 'newly changed' : now === null ? 'no longer changed' : 'changed again'
}

function Lines(props: { sessionId: string; before: Review; now: Review; file: DifferentFile }) {
  const { sessionId, before, now, file } = props
  const texts = useQuery({
    queryKey: ['session', sessionId, 'between', before.revision, now.revision, file.path],
    // Two revisions stay as they are; only lines that were not there may come.
    staleTime: ({ state }) => (state.data === null ? 0 : Number.POSITIVE_INFINITY),
    queryFn: async () => {
      const read = async ({ revision }: Review, at: number | null) => {
        if (at === null) return null
        const { patch, expandable, truncated } = await readReviewFile(sessionId, revision, at, everyLine)
        // Without every line there is nothing to compare.
        return expandable && !truncated && patch !== null ? parsePatch(patch)[0] : undefined
      }
      const [old, fresh] = await Promise.all([read(before, file.before), read(now, file.now)])
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
