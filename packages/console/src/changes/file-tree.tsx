import type { Review } from '@berth/client'
import { Check, ChevronRight } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { singleKeyOf } from '../shell/single-key.ts'
import { inputClass } from '../ui/field.tsx'
import { counted } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { statusStyle } from './file-header.tsx'
import { type Folder, type Leaf, leavesOf, treeOf } from './review-tree.ts'
import { useViewedFiles } from './use-review-files.ts'

interface Shown {
  readonly isViewed: (at: number) => boolean
  readonly onGo: (at: number) => void
  /** Place of the file that is in view. */
  readonly current: number
  readonly closed: ReadonlySet<string>
  readonly onFold: (path: string) => void
}

/** The files of a review as a tree in the order of the diff, which follows the file in view. A press goes to the file. */
export function FileTree(props: { sessionId: string; review: Review; current: number; onGo: (at: number) => void }) {
  const { sessionId, review, current, onGo } = props
  const isViewed = useViewedFiles(sessionId, review)
  const [word, setWord] = useState('')
  const tree = useMemo(() => treeOf(review.files, word), [review, word])
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const nav = useRef<HTMLElement>(null)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // Every scroll of the diff may bring another file; the tree moves only if its line is out of sight.
    if (current >= 0) nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [current])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (singleKeyOf(event) !== 'f') return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const onFold = (path: string) => {
    const next = new Set(closed)
    if (!next.delete(path)) next.add(path)
    setClosed(next)
  }
  // A file that was searched for is shown, even in a folded folder.
  const shown = { isViewed, onGo, current, onFold, closed: word.trim() === '' ? closed : new Set<string>() }
  return (
    <>
      <div className="border-b border-line p-2">
        <input
          ref={field}
          type="search"
          aria-label="Filter files"
          placeholder="Filter files (f)"
          value={word}
          onChange={event => setWord(event.target.value)}
          onKeyDown={event => {
            if (event.key === 'Enter') {
              const [first] = leavesOf(tree)
              if (first !== undefined) onGo(first.at)
            }
            if (event.key === 'Escape') setWord('')
          }}
          className={`${inputClass} h-8 text-xs`}
        />
      </div>
      <nav ref={nav} aria-label="Changed files" className="min-h-0 flex-1 overflow-y-auto p-2 text-xs">
        {tree.files === 0 ? (
          <p className="px-1.5 py-1 text-ink-3">No path has that.</p>
        ) : (
          <Level of={tree} {...shown} />
        )}
      </nav>
    </>
  )
}

const rowClass =
  'flex h-7 w-full items-center gap-1.5 rounded-md px-1.5 text-left hover:bg-hover aria-[current]:bg-selected'

function Level({ of, ...shown }: Shown & { of: Folder }) {
  return (
    <ul className="flex flex-col gap-px [li_&]:pl-3">
      {of.children.map(child => (
        <li key={child.kind === 'file' ? child.at : child.path}>
          {child.kind === 'file' ? <FileLine leaf={child} {...shown} /> : <FolderLine folder={child} {...shown} />}
        </li>
      ))}
    </ul>
  )
}

function FolderLine({ folder, ...shown }: Shown & { folder: Folder }) {
  const { name, path, files, additions, deletions } = folder
  const isClosed = shown.closed.has(path)
  const leaves = leavesOf(folder)
  const viewed = leaves.filter(({ at }) => shown.isViewed(at)).length
  const isCurrent = isClosed && leaves.some(({ at }) => at === shown.current)
  return (
    <>
      <button
        type="button"
        data-list-item
        aria-expanded={!isClosed}
        aria-current={isCurrent || undefined}
        title={`${printableLine(path)}: ${counted(files, 'file')}, ${viewed} viewed, +${additions} −${deletions}`}
        onClick={() => shown.onFold(path)}
        className={`${rowClass} text-ink-3`}
      >
        <ChevronRight className={`size-3.5 shrink-0 ${isClosed ? '' : 'rotate-90'}`} aria-hidden />
        <span className="min-w-0 flex-1 truncate">{printableLine(name)}</span>
        {viewed === files && <Check className="size-3.5 shrink-0 text-accent" aria-label="viewed" />}
        <span className="shrink-0 text-2xs tabular-nums">
          <span className="sr-only">{counted(files, 'file')}</span>
          <span aria-hidden>{files}</span> <span className="text-good">+{additions}</span>{' '}
          <span className="text-bad">−{deletions}</span>
        </span>
      </button>
      {!isClosed && <Level of={folder} {...shown} />}
    </>
  )
}

function FileLine({ leaf: { file, at }, isViewed, onGo, current }: Shown & { leaf: Leaf }) {
  const [letter, tone] = statusStyle[file.status]
  const viewed = isViewed(at)
  return (
    <button
      type="button"
      data-list-item
      aria-current={at === current || undefined}
      title={printableLine(file.path)}
      onClick={() => onGo(at)}
      className={rowClass}
    >
      <span className={`w-3 shrink-0 font-mono font-semibold ${tone}`}>
        {letter}
        <span className="sr-only"> {file.status}</span>
      </span>
      <span className={`truncate ${viewed ? 'text-ink-3' : ''}`}>
        {printableLine(file.path.slice(file.path.lastIndexOf('/') + 1))}
      </span>
      {viewed && <Check className="ml-auto size-3.5 shrink-0 text-accent" aria-label="viewed" />}
    </button>
  )
}
