import type { Review, ReviewFile } from '@berth/client'
import { Check, Folder } from 'lucide-react'
import { printableLine } from '../ui/printable.ts'
import { statusLook } from './file-header.tsx'
import { useViewedFiles } from './use-review-files.ts'

interface Directory {
  readonly name: string
  readonly directories: Map<string, Directory>
  readonly files: { readonly file: ReviewFile; readonly at: number }[]
}

/** Puts files into their directories; a directory with nothing but another is one with it. */
function treeOf(files: readonly ReviewFile[]): Directory {
  const root: Directory = { name: '', directories: new Map(), files: [] }
  files.forEach((file, at) => {
    let directory = root
    for (const name of file.path.split('/').slice(0, -1)) {
      const next = directory.directories.get(name) ?? { name, directories: new Map(), files: [] }
      directory.directories.set(name, next)
      directory = next
    }
    directory.files.push({ file, at })
  })
  return root
}

/** The files of a review as a tree. A press goes to the file. */
export function FileTree(props: { sessionId: string; review: Review; onGo: (at: number) => void }) {
  const isViewed = useViewedFiles(props.sessionId, props.review)
  return (
    <nav aria-label="Changed files" className="min-h-0 overflow-y-auto p-2 text-xs">
      <Level directory={treeOf(props.review.files)} isViewed={isViewed} onGo={props.onGo} />
    </nav>
  )
}

function Level(props: { directory: Directory; isViewed: (at: number) => boolean; onGo: (at: number) => void }) {
  const { directory, isViewed, onGo } = props
  return (
    <ul className="flex flex-col gap-px [li_&]:pl-3">
      {[...directory.directories.values()].map(child => {
        let [name, inner] = [child.name, child]
        while (inner.files.length === 0 && inner.directories.size === 1) {
          const [only] = inner.directories.values()
          if (only === undefined) break
          inner = only
          name = `${name}/${only.name}`
        }
        return (
          <li key={child.name}>
            <span className="flex h-7 items-center gap-1.5 px-1.5 text-ink-3" title={printableLine(name)}>
              <Folder className="size-3.5 shrink-0" aria-hidden />
              <span className="truncate">{printableLine(name)}</span>
            </span>
            <Level directory={inner} isViewed={isViewed} onGo={onGo} />
          </li>
        )
      })}
      {directory.files.map(({ file, at }) => {
        const [letter, tone] = statusLook[file.status]
        const name = printableLine(file.path.slice(file.path.lastIndexOf('/') + 1))
        return (
          <li key={at}>
            <button
              type="button"
              data-list-item
              title={printableLine(file.path)}
              onClick={() => onGo(at)}
              className="flex h-7 w-full items-center gap-1.5 rounded-md px-1.5 text-left hover:bg-hover"
            >
              <span className={`w-3 shrink-0 font-mono font-semibold ${tone}`}>
                {letter}
                <span className="sr-only"> {file.status}</span>
              </span>
              <span className={`truncate ${isViewed(at) ? 'text-ink-3' : ''}`}>{name}</span>
              {isViewed(at) && <Check className="ml-auto size-3.5 shrink-0 text-accent" aria-label="viewed" />}
            </button>
          </li>
        )
      })}
    </ul>
  )
}
