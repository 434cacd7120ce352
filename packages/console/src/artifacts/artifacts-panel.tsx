import type { Session } from '@berth/client'
import type { NoticeRow } from '@berth/client/transcript'
import { formatBytes } from '@berth/client/transcript'
import type { Artifact } from '@berth/contract'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import {
  ChevronLeft,
  CircleAlert,
  Download,
  FileBadge,
  FileText,
  GitPullRequest,
  Package,
  ScrollText,
} from 'lucide-react'
import { saveFile } from '../api/save-file.ts'
import { to } from '../routing/to.ts'
import { useLog } from '../session/logs.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { ArtifactView } from './artifact-view.tsx'
import { InlinePictures } from './inline-pictures.tsx'
import { OpenInSandbox } from './open-in-sandbox.tsx'
import { isInlinePicture, isSamePicture } from './pictures.ts'
import { artifactsQuery, contentPath } from './queries.ts'

const route = getRouteApi('/shell/sessions/$sessionId')

const kinds: Readonly<Record<string, readonly [label: string, icon: typeof FileText]>> = {
  presented_file: ['File', FileText],
  run_result: ['Result of a Run', ScrollText],
  check_output: ['Output of a check', ScrollText],
  pull_request_record: ['Pull request', GitPullRequest],
  statement: ['Signed statement', FileBadge],
}

/** The artifacts of a Session: the files that its agent presented, results, and records of deliveries. */
export function Artifacts({ session }: { session: Session }) {
  const { artifact: openId } = route.useSearch()
  const rows = useLog(session.id, ({ view }) => view.rows)
  const known = rows.filter(({ kind }) => kind === 'artifact' || kind === 'end').length
  const omitted = rows.filter(row => row.kind === 'notice').filter(({ about }) => about === 'omission')
  const list = useInfiniteQuery(artifactsQuery(session.id, known))
  if (list.isError && list.data === undefined) {
    return <ErrorState error={list.error} retry={() => void list.refetch()} />
  }
  if (list.data === undefined) return <LoadingLines label="the artifacts" />
  const artifacts = list.data.pages.flatMap(page => page.artifacts)
  const open = artifacts.find(({ id }) => id === openId)
  const before = (artifact: Artifact) =>
    artifacts.slice(0, artifacts.indexOf(artifact)).findLast(earlier => isSamePicture(artifact, earlier))
  if (open !== undefined) return <Open session={session} artifact={open} before={before(open)} />
  if (artifacts.length + omitted.length === 0) {
    return (
      <EmptyState icon={Package} title="Nothing kept yet">
        Files that the agent presents, and the results of its Runs, are kept here for good.
      </EmptyState>
    )
  }
  return (
    <div className="flex flex-col gap-4 p-3">
      <ul className="divide-y divide-line rounded-lg border border-line">
        {artifacts.toReversed().map(artifact => (
          <Item key={artifact.id} session={session} artifact={artifact} before={before(artifact)} />
        ))}
      </ul>
      {list.hasNextPage && (
        <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show more
        </Button>
      )}
      <Omitted rows={omitted} />
    </div>
  )
}

interface Props {
  readonly session: Session
  readonly artifact: Artifact
  /** The picture of the same name that an earlier Run kept. */
  readonly before: Artifact | undefined
}

function Item({ session, artifact, before }: Props) {
  const [label, Icon] = kinds[artifact.kind] ?? ['Artifact', FileText]
  const name = printableLine(artifact.name)
  return (
    <li className="flex items-center gap-1 pr-1.5 hover:bg-hover">
      <Link
        {...to.session(session.id, { panel: 'artifacts', artifact: artifact.id })}
        className="flex min-h-12 min-w-0 flex-1 flex-wrap items-center gap-3 rounded-md px-3 py-2 -outline-offset-2"
      >
        <Icon className="size-4 shrink-0 text-ink-3" aria-hidden />
        <span className="min-w-0 flex-1">
          <span className="block truncate text-[0.8125rem] font-medium">{name}</span>
          <span className="block truncate text-xs text-ink-3 tabular-nums">
            {label} · {formatBytes(artifact.sizeBytes)} · {new Date(artifact.createdAt).toLocaleString()}
            {artifact.runId !== undefined && <> · Run {artifact.runId.slice(0, 8)}</>}
          </span>
        </span>
        {isInlinePicture(artifact) && (
          <span className="basis-full">
            <InlinePictures picture={artifact} before={before} />
          </span>
        )}
      </Link>
      <Save artifact={artifact} />
    </li>
  )
}

function Save({ artifact }: { artifact: Artifact }) {
  const save = useMutation({ mutationFn: () => saveFile(contentPath(artifact), artifact.name) })
  return (
    <>
      <IconButton
        label={`Download ${printableLine(artifact.name)}`}
        disabled={save.isPending}
        onClick={() => save.mutate()}
      >
        <Download className="size-4" aria-hidden />
      </IconButton>
      <InlineProblem error={save.error} />
    </>
  )
}

function Open({ session, artifact, before }: Props) {
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-11 shrink-0 items-center gap-2 border-b border-line pr-1.5 pl-2">
        <Link
          {...to.session(session.id, { panel: 'artifacts' })}
          aria-label="All artifacts"
          className="grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover"
        >
          <ChevronLeft className="size-4" aria-hidden />
        </Link>
        <h2 className="min-w-0 flex-1 truncate text-[0.8125rem] font-medium">{printableLine(artifact.name)}</h2>
        <span className="text-xs text-ink-3 tabular-nums">{formatBytes(artifact.sizeBytes)}</span>
        <Save artifact={artifact} />
      </header>
      <OpenInSandbox session={session} artifact={artifact} />
      <div className="flex min-h-0 flex-1 flex-col sm:flex-row">
        {(before === undefined ? [artifact] : [before, artifact]).map(each => (
          <div key={each.id} className="flex min-h-0 min-w-0 flex-1 flex-col">
            {before !== undefined && (
              <h3 className="px-4 pt-3 text-xs font-medium text-ink-2">
                {each === before ? 'Before' : 'After'}
                <span className="font-normal text-ink-3"> · {new Date(each.createdAt).toLocaleString()}</span>
              </h3>
            )}
            <div className="min-h-0 flex-1">
              <ArtifactView artifact={each} />
            </div>
          </div>
        ))}
      </div>
    </div>
  )
}

/** The files that the agent presented and the service did not keep, with the reason. */
function Omitted({ rows }: { rows: readonly NoticeRow[] }) {
  if (rows.length === 0) return null
  return (
    <section aria-labelledby="omitted" className="flex flex-col gap-2">
      <h2 id="omitted" className="text-sm font-semibold">
        Not kept
      </h2>
      <ul className="flex flex-col gap-1.5">
        {rows.map(row => (
          <li key={row.key} className="flex items-start gap-2 text-[0.8125rem] text-ink-2">
            <CircleAlert className="mt-0.5 size-3.5 shrink-0 text-warning" aria-hidden />
            <span className="min-w-0 [overflow-wrap:anywhere]">
              {printableLine(row.text)}
              {row.detail !== undefined && <>: {printableLine(row.detail)}</>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
