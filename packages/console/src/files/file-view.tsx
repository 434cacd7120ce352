import { BerthError } from '@berth/client'
import { formatBytes } from '@berth/client/transcript'
import type { WorkspaceNode } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Copy, Download, EyeOff, WrapText } from 'lucide-react'
import { type ReactNode, useMemo, useState, useSyncExternalStore } from 'react'
import { Button, IconButton } from '../ui/button.tsx'
import { counted } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { saveBytes } from '../ui/save-bytes.ts'
import { ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { FileLines } from './file-lines.tsx'
import { eagerBytes, fileText, highlightedLines, isBinary, pictureType, shownBytes } from './file-text.ts'
import { Picture } from './picture.tsx'
import { contentQuery, type FilesAt, nodeQuery, readFile } from './queries.ts'

interface FileViewProps {
  readonly sessionId: string
  readonly path: string
  readonly moment: string
  readonly at: FilesAt
  readonly line: number | undefined
  readonly onLine: (line: number) => void
  /** In place of the path. */
  readonly heading?: string | undefined
}

/** One file: its lines, or a picture. Large and binary files are drawn on request. */
export function FileView(props: FileViewProps) {
  const { sessionId, path, moment, at } = props
  const node = useQuery(nodeQuery(sessionId, path, moment, at))
  if (isMissing(node.error)) {
    return (
      <Instead
        title={
          at === 'base'
            ? 'It was not there when the Session began.'
            : 'No such file. It was moved or deleted, or is not in the workspace.'
        }
      />
    )
  }
  if (node.isError) return <ErrorState error={node.error} retry={() => void node.refetch()} />
  if (node.data === undefined) return <LoadingLines label={printableLine(path)} />
  if (node.data.kind !== 'file') return <Instead title="This is a folder. Open it in the tree." />
  return <Content {...props} node={node.data} />
}

function Content({
  sessionId,
  path,
  moment,
  at,
  line,
  onLine,
  heading,
  node,
}: FileViewProps & { node: WorkspaceNode }) {
  const sizeBytes = node.sizeBytes ?? 0
  const [requested, setRequested] = useState(false)
  const [wrap, setWrap] = useWrap()
  const isShown = sizeBytes <= (requested ? shownBytes : eagerBytes)
  const content = useQuery({ ...contentQuery(sessionId, path, moment, at, shownBytes), enabled: isShown })
  const raw = content.data
  const read = useMemo(() => (raw === undefined || isBinary(raw) ? null : fileText(raw)), [raw])
  const picture = raw === undefined ? null : pictureType(raw)
  const colours = useQuery({
    queryKey: ['colours', sessionId, at, path, moment],
    enabled: read !== null && sizeBytes <= eagerBytes && read.lines.length <= highlightedLines,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    queryFn: async () =>
      (await import('./highlight.ts')).highlight(path.slice(path.lastIndexOf('/') + 1), read?.lines ?? []),
  })
  const name = printableLine(path)
  const body = () => {
    if (!isShown && sizeBytes > shownBytes)
      return <Instead title={`This file has ${formatBytes(sizeBytes)}. Download it to read it.`} />
    if (!isShown) {
      return (
        <Instead title={`This file has ${formatBytes(sizeBytes)}.`}>
          <Button onClick={() => setRequested(true)}>Show it, without colours</Button>
        </Instead>
      )
    }
    if (content.isError) return <ErrorState error={content.error} retry={() => void content.refetch()} />
    if (raw === undefined) return <LoadingLines label={name} lines={12} />
    if (picture !== null && (read === null || picture === 'image/svg+xml')) {
      return <Picture bytes={raw} type={picture} name={name} />
    }
    if (read === null) return <Instead title="This file is no text." />
    if (raw.length === 0) return <Instead title="This file is empty." />
    return (
      <FileLines
        label={at === 'base' ? `${name} when the Session began` : name}
        lines={read.lines}
        colours={colours.data ?? null}
        wrap={wrap}
        line={line}
        onLine={onLine}
      />
    )
  }
  return (
    <div className="flex h-full flex-col">
      <header className="flex min-h-10 shrink-0 flex-wrap items-center gap-x-2 border-b border-line py-1 pr-1.5 pl-3">
        <h2 className="min-w-0 flex-1 truncate font-mono text-xs" title={name}>
          {heading ?? name}
        </h2>
        {read !== null && read.hidden > 0 && (
          <span className="inline-flex items-center gap-1 rounded-full border border-warning-line bg-warning-soft px-2 py-0.5 text-xs text-warning">
            <EyeOff className="size-3" aria-hidden /> {counted(read.hidden, 'invisible character')}
          </span>
        )}
        {read?.valid === false && <span className="text-xs text-warning">Not all of it is UTF-8</span>}
        <span className="text-xs text-ink-3 tabular-nums">{formatBytes(sizeBytes)}</span>
        <span className="flex">
          {read !== null && (
            <IconButton
              label="Wrap long lines"
              aria-pressed={wrap}
              onClick={() => setWrap(!wrap)}
              className="aria-pressed:bg-selected"
            >
              <WrapText className="size-4" aria-hidden />
            </IconButton>
          )}
          <CopyPath path={path} />
          <Save sessionId={sessionId} path={path} at={at} sizeBytes={sizeBytes} />
        </span>
      </header>
      <div className="min-h-0 flex-1">{body()}</div>
    </div>
  )
}

function CopyPath({ path }: { path: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <IconButton
      label={copied ? 'Copied' : 'Copy the path'}
      onClick={async () => {
        await navigator.clipboard.writeText(`/workspace/${path}`)
        setCopied(true)
      }}
    >
      <Copy className={`size-4 ${copied ? 'text-good' : ''}`} aria-hidden />
    </IconButton>
  )
}

function Save({ sessionId, path, at, sizeBytes }: { sessionId: string; path: string; at: FilesAt; sizeBytes: number }) {
  const save = useMutation({
    mutationFn: async () => {
      const content = await readFile(sessionId, path, { at, mostBytes: Math.max(sizeBytes, 1) })
      saveBytes(content, path.slice(path.lastIndexOf('/') + 1))
    },
  })
  return (
    <>
      <IconButton
        label="Download"
        aria-busy={save.isPending || undefined}
        disabled={save.isPending}
        onClick={() => save.mutate()}
      >
        <Download className={`size-4 ${save.isPending ? 'animate-pulse' : ''}`} aria-hidden />
      </IconButton>
      <InlineProblem error={save.error} />
    </>
  )
}

const isMissing = (error: unknown): boolean => error instanceof BerthError && error.code === 'workspace_file_not_found'

function Instead({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-3 px-6 py-16 text-center text-ink-2">
      <p>{title}</p>
      {children}
    </div>
  )
}

const wrapKey = 'berth.wrap'
const listeners = new Set<() => void>()

/** Whether long lines are wrapped; this browser keeps it. On a phone they are, until somebody says otherwise. */
function useWrap(): readonly [boolean, (wrap: boolean) => void] {
  const wrap = useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => {
      const kept = localStorage.getItem(wrapKey)
      return kept === null ? matchMedia('(max-width: 40rem)').matches : kept === 'true'
    },
  )
  const set = (next: boolean) => {
    localStorage.setItem(wrapKey, String(next))
    for (const listener of listeners) listener()
  }
  return [wrap, set]
}
