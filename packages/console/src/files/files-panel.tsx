import { BerthError, type Session } from '@berth/client'
import type { WorkspaceNode } from '@berth/contract'
import { emptyTreeOid } from '@berth/contract'
import { useIsFetching, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { ChevronLeft, FolderOpen, GitCommitHorizontal, History, RotateCw } from 'lucide-react'
import { queryClient } from '../api/queries.ts'
import { to } from '../routing/to.ts'
import { useLog } from '../session/logs.ts'
import { IconButton } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, ErrorState, LoadingLines } from '../ui/states.tsx'
import { FileTree } from './file-tree.tsx'
import { FileView } from './file-view.tsx'
import { type FilesAt, nodeQuery } from './queries.ts'

const route = getRouteApi('/shell/sessions/$sessionId')

/** The files of a Session's workspace: the tree, and the file that is open; in a narrow panel one of the two. */
export function Files({ session }: { session: Session }) {
  const { file, line, at: requestedAt } = route.useSearch()
  const navigate = useNavigate()
  const editedAt = useLog(session.id, snapshot => snapshot.view.editedAt)
  const shownAt = session.source === undefined ? undefined : requestedAt
  const treeAt = shownAt === 'base' ? 'base' : 'now'
  // Between Runs nothing changes; during one, the listing is read again on request, and the open file at each edit.
  const now = session.activeRunId ?? `idle-${session.lastEventSequence}`
  const base = session.source?.baseOid ?? ''
  const moment = treeAt === 'base' ? base : now
  const root = useQuery(nodeQuery(session.id, '', moment, treeAt))
  const open = (path: string, line?: number) =>
    void navigate({
      ...to.session(session.id, { panel: 'files', file: path, at: shownAt, line }),
      replace: path === file,
    })
  const view = (path: string, of: FilesAt, heading?: string) => (
    <FileView
      key={`${of}:${path}:${line}`}
      sessionId={session.id}
      path={path}
      at={of}
      moment={of === 'base' ? base : `${now}/${editedAt}`}
      line={line}
      onLine={at => open(path, at)}
      heading={heading}
    />
  )
  return (
    <div className="@container flex h-full flex-col">
      <Bar session={session} root={root.data} hasFile={file !== undefined} shownAt={shownAt} />
      {root.isError ? (
        <NoFiles error={root.error} retry={() => void root.refetch()} />
      ) : root.data === undefined ? (
        <LoadingLines label="the files" />
      ) : (
        <div className="grid min-h-0 flex-1 @xl:grid-cols-[minmax(11rem,15rem)_minmax(0,1fr)]">
          <div className={`min-h-0 border-line @xl:border-r ${file === undefined ? '' : '@max-xl:hidden'}`}>
            <FileTree key={treeAt} sessionId={session.id} moment={moment} at={treeAt} shown={file} onOpen={open} />
          </div>
          <div className={`min-h-0 min-w-0 ${file === undefined ? '@max-xl:hidden' : ''}`}>
            {file === undefined ? (
              <p className="px-6 py-16 text-center text-ink-3">Choose a file to read it.</p>
            ) : shownAt === 'both' ? (
              <div className="grid h-full auto-rows-fr divide-line @max-4xl:divide-y @4xl:grid-cols-2 @4xl:divide-x">
                <div className="min-h-0 min-w-0">{view(file, 'base', 'When the Session began')}</div>
                <div className="min-h-0 min-w-0">{view(file, 'now', 'Now')}</div>
              </div>
            ) : (
              view(file, treeAt)
            )}
          </div>
        </div>
      )}
    </div>
  )
}

const views = [
  [undefined, 'Now'],
  ['base', 'At the start'],
  ['both', 'Both'],
] as const

interface BarProps {
  readonly session: Session
  readonly root: WorkspaceNode | undefined
  readonly hasFile: boolean
  readonly shownAt: 'base' | 'both' | undefined
}

/** Says which state of the files is shown, and leads to the others. */
function Bar({ session, root, hasFile, shownAt }: BarProps) {
  const { file, line } = route.useSearch()
  const reading = useIsFetching({ queryKey: ['session', session.id, 'files'] }) > 0
  const refresh = () => {
    void queryClient.invalidateQueries({ queryKey: ['session', session.id, 'files'] })
    void queryClient.invalidateQueries({ queryKey: ['session', session.id, 'content'] })
  }
  return (
    <div className="flex min-h-10 shrink-0 flex-wrap items-center gap-x-2 border-b border-line px-3 py-0.5 text-xs text-ink-3">
      {hasFile && (
        <Link
          {...to.session(session.id, { panel: 'files', at: shownAt })}
          className="-ml-1.5 inline-flex h-8 items-center gap-1 rounded-md px-1.5 text-[0.8125rem] text-ink-2 hover:bg-hover @xl:hidden"
        >
          <ChevronLeft className="size-4" aria-hidden /> Files
        </Link>
      )}
      <span className="inline-flex min-w-0 flex-1 items-center gap-1.5">
        <State view={root?.view} branch={session.source?.baseBranch} />
      </span>
      {session.source !== undefined && (
        <nav aria-label="State of the files" className="flex rounded-md border border-line p-0.5">
          {views.map(([at, label]) => (
            <Link
              key={label}
              {...to.session(session.id, { panel: 'files', file, line, at })}
              // The router would call a link current that only leaves something out.
              activeOptions={{ exact: true, includeSearch: true, explicitUndefined: true }}
              aria-current={at === shownAt ? 'page' : undefined}
              className="inline-flex min-h-6 items-center rounded px-2 text-ink-2 hover:bg-hover aria-[current]:bg-selected aria-[current]:text-ink max-lg:min-h-8"
            >
              {label}
            </Link>
          ))}
        </nav>
      )}
      <IconButton label="Read again" aria-busy={reading || undefined} onClick={refresh}>
        <RotateCw className={`size-3.5 ${reading ? 'animate-spin motion-reduce:animate-none' : ''}`} aria-hidden />
      </IconButton>
    </div>
  )
}

function State({ view, branch }: { view: WorkspaceNode['view'] | undefined; branch: string | undefined }) {
  if (view?.at === 'base') {
    return (
      <>
        <GitCommitHorizontal className="size-3.5 shrink-0" aria-hidden />
        <span className="truncate">
          As on {printableLine(branch ?? 'its branch')}{' '}
          {view.commit === emptyTreeOid ? 'without a commit' : `at ${view.commit?.slice(0, 7)}`}, when the Session began
        </span>
      </>
    )
  }
  if (view?.at === 'sealed') {
    const sealedAt = view.sealedAt === undefined ? '' : ` ${new Date(view.sealedAt).toLocaleString()}`
    return (
      <>
        <History className="size-3.5 shrink-0" aria-hidden />
        <span className="truncate">As saved{sealedAt}; there is no sandbox now</span>
      </>
    )
  }
  if (view === undefined) return null
  return (
    <>
      <span className="dot bg-dot-good" aria-hidden /> As they are in the sandbox
    </>
  )
}

/** A Session has no files before its first sandbox. */
function NoFiles({ error, retry }: { error: unknown; retry: () => void }) {
  if (!(error instanceof BerthError && error.code === 'cloud_workspace_expired')) {
    return <ErrorState error={error} retry={retry} />
  }
  return (
    <EmptyState icon={FolderOpen} title="No files yet">
      The files show up here once the first sandbox of this Session stands.
    </EmptyState>
  )
}
