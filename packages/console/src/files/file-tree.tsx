import { useQueries } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ChevronRight, File, FileQuestion, Folder, FolderOpen, Link2 } from 'lucide-react'
import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react'
import { printableLine } from '../ui/printable.ts'
import { useExpanded } from './expanded.ts'
import { type FilesAt, nodeQuery } from './queries.ts'
import { parentRow, rowAfter, type TreeRow, treeRows } from './tree-rows.ts'

interface FileTreeProps {
  readonly sessionId: string
  readonly moment: string
  readonly at: FilesAt
  readonly shown: string | undefined
  readonly onOpen: (path: string) => void
}

const rowHeight = 28

/** The workspace as a tree. A directory is read once it is opened. */
export function FileTree({ sessionId, moment, at, shown, onOpen }: FileTreeProps) {
  const [expanded, setExpanded] = useExpanded(sessionId, shown)
  const directories = ['', ...expanded]
  const listings = useQueries({
    queries: directories.map(path => nodeQuery(sessionId, path, moment, at)),
    combine: results =>
      new Map(
        results.map((result, index) => [directories[index] ?? '', { node: result.data, failed: result.isError }]),
      ),
  })
  const rows = useMemo(() => treeRows(listings, expanded), [listings, expanded])
  const [activePath, setActivePath] = useState(shown ?? '')
  const active = Math.max(
    0,
    rows.findIndex(({ path }) => path === activePath),
  )
  const scroller = useRef<HTMLDivElement | null>(null)
  const id = useId()
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    paddingStart: 6,
    paddingEnd: 6,
  })

  const act = (row: TreeRow | undefined) => {
    if (row?.kind !== 'entry') return
    setActivePath(row.path)
    if (row.entry.kind === 'directory') setExpanded(row.path, !expanded.has(row.path))
    else if (row.entry.readable) onOpen(row.path)
  }
  const go = (at: number) => {
    setActivePath(rows[at]?.path ?? '')
    virtualizer.scrollToIndex(at)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const row = rows[active]
    const isDirectory = row?.kind === 'entry' && row.entry.kind === 'directory'
    const next = rowAfter(rows, active, event.key)
    if (next !== null) go(next)
    else if (event.key === 'ArrowRight' && isDirectory) {
      if (expanded.has(row.path)) go(Math.min(rows.length - 1, active + 1))
      else setExpanded(row.path, true)
    } else if (event.key === 'ArrowLeft') {
      if (isDirectory && expanded.has(row.path)) setExpanded(row.path, false)
      else go(parentRow(rows, active))
    } else if (event.key === 'Enter' || event.key === ' ') act(row)
    else return
    event.preventDefault()
  }

  const items = virtualizer.getVirtualItems()
  // A row that is scrolled away is not in the page, so nothing may refer to it.
  const isActiveInPage = items.some(({ index }) => index === active)

  return (
    <div
      ref={scroller}
      role="tree"
      tabIndex={0}
      aria-label="Files"
      aria-activedescendant={isActiveInPage ? `${id}-${active}` : undefined}
      onKeyDown={onKeyDown}
      className="group/tree h-full overflow-auto outline-none"
    >
      <div role="none" className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {items.map(item => {
          const row = rows[item.index]
          if (row === undefined) return null
          return (
            <div
              key={`${row.kind}/${row.path}`}
              role="none"
              className="absolute inset-x-0 top-0 px-1.5"
              style={{ height: rowHeight, transform: `translateY(${item.start}px)` }}
            >
              <Row
                id={`${id}-${item.index}`}
                row={row}
                isActive={item.index === active}
                isShown={row.path === shown}
                isOpen={expanded.has(row.path)}
                onPress={() => act(row)}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface RowProps {
  readonly id: string
  readonly row: TreeRow
  readonly isActive: boolean
  readonly isShown: boolean
  readonly isOpen: boolean
  readonly onPress: () => void
}

function Row({ id, row, isActive, isShown, isOpen, onPress }: RowProps) {
  const indent = { paddingLeft: `${row.depth * 0.875 + 0.375}rem` }
  if (row.kind === 'note') {
    return (
      <div
        id={id}
        role="treeitem"
        aria-level={row.depth + 1}
        aria-disabled
        tabIndex={-1}
        className="flex h-full items-center text-xs text-ink-3"
        style={indent}
      >
        <span className="pl-5">{row.text}</span>
      </div>
    )
  }
  const { entry } = row
  const name = printableLine(entry.name)
  const isDirectory = entry.kind === 'directory'
  return (
    // The tree has the keyboard; a row only answers to a pointer.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      id={id}
      role="treeitem"
      tabIndex={-1}
      aria-level={row.depth + 1}
      aria-expanded={isDirectory ? isOpen : undefined}
      aria-selected={isShown}
      aria-disabled={!isDirectory && !entry.readable ? true : undefined}
      onClick={onPress}
      title={entry.target === undefined ? name : `${name} → ${printableLine(entry.target)}`}
      className={`flex h-full cursor-pointer items-center gap-1.5 rounded-md pr-2 text-[0.8125rem] ${isShown ? 'bg-selected font-medium' : 'hover:bg-hover'} ${entry.readable ? '' : 'cursor-default text-ink-3'} ${isActive ? 'group-focus-visible/tree:outline-2 group-focus-visible/tree:-outline-offset-2 group-focus-visible/tree:outline-accent' : ''}`}
      style={indent}
    >
      <ChevronRight
        className={`size-3.5 shrink-0 text-ink-3 ${isDirectory ? '' : 'invisible'} ${isOpen ? 'rotate-90' : ''}`}
        aria-hidden
      />
      <Icon kind={entry.kind} isOpen={isOpen} />
      <span className="truncate">{name}</span>
    </div>
  )
}

function Icon({ kind, isOpen }: { kind: string; isOpen: boolean }) {
  const className = 'size-4 shrink-0'
  if (kind === 'directory') {
    return isOpen ? (
      <FolderOpen className={`${className} text-accent`} aria-hidden />
    ) : (
      <Folder className={`${className} text-accent`} aria-hidden />
    )
  }
  if (kind === 'link') return <Link2 className={`${className} text-ink-3`} aria-label="Link" />
  if (kind === 'file') return <File className={`${className} text-ink-3`} aria-hidden />
  return <FileQuestion className={`${className} text-ink-3`} aria-label="Not a file" />
}
