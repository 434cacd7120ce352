import { formatBytes } from '@berth/client/transcript'
import { type Artifact, artifactViewOf } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { EyeOff } from 'lucide-react'
import { useMemo, useState } from 'react'
import { FileLines } from '../files/file-lines.tsx'
import { fileText, highlightedLines, isBinary, pictureType, shownBytes } from '../files/file-text.ts'
import { Picture } from '../files/picture.tsx'
import { Markdown } from '../transcript/markdown.tsx'
import { counted } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { ErrorState, LoadingLines } from '../ui/states.tsx'
import { artifactContentQuery } from './queries.ts'

/** More than this is shown as lines, since Markdown is drawn whole. */
const markdownBytes = 256 * 1024

/** The content of an Artifact: a picture, Markdown or lines. Nothing of it is ever HTML of this page. */
export function ArtifactView({ artifact }: { artifact: Artifact }) {
  const isShown = artifact.sizeBytes <= shownBytes
  const content = useQuery({ ...artifactContentQuery(artifact), enabled: isShown })
  const raw = content.data
  const read = useMemo(() => (raw === undefined || isBinary(raw) ? null : fileText(raw)), [raw])
  const isMarkdown = /\.(?:md|markdown)$/i.test(artifact.name) && artifact.sizeBytes <= markdownBytes
  const [asSource, setAsSource] = useState(false)
  const colours = useQuery({
    queryKey: ['colours', artifact.id],
    enabled: read !== null && artifact.sizeBytes <= 1024 ** 2 && read.lines.length <= highlightedLines,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    queryFn: async () => (await import('../files/highlight.ts')).highlight(artifact.name, read?.lines ?? []),
  })
  const name = printableLine(artifact.name)
  if (!isShown) return <Note>It has {formatBytes(artifact.sizeBytes)}. Download it to look at it.</Note>
  if (content.isError) return <ErrorState error={content.error} retry={() => void content.refetch()} />
  if (raw === undefined) return <LoadingLines label={name} />
  const picture = pictureType(raw)
  if (picture !== null && (read === null || picture === 'image/svg+xml')) {
    return <Picture bytes={raw} type={picture} name={name} />
  }
  if (read === null) {
    if (artifactViewOf(artifact.name) !== null) return <Note>It is not shown on this page. Open it in a sandbox.</Note>
    return <Note>This is neither text nor a picture. Download it to open it.</Note>
  }
  if (raw.length === 0) return <Note>It is empty.</Note>
  return (
    <div className="flex h-full flex-col">
      {(isMarkdown || read.hidden > 0) && (
        <div className="flex items-center gap-2 px-4 pt-3 text-xs">
          {read.hidden > 0 && (
            <span className="inline-flex items-center gap-1 rounded-full border border-warning-line bg-warning-soft px-2 py-0.5 text-warning">
              <EyeOff className="size-3" aria-hidden /> {counted(read.hidden, 'invisible character')}
            </span>
          )}
          {isMarkdown && (
            <button
              type="button"
              aria-pressed={asSource}
              onClick={() => setAsSource(!asSource)}
              className="ml-auto rounded-md px-2 py-1 text-ink-2 hover:bg-hover aria-pressed:bg-selected"
            >
              Source
            </button>
          )}
        </div>
      )}
      {isMarkdown && !asSource ? (
        <div className="min-h-0 flex-1 overflow-y-auto px-4 py-3" tabIndex={0} role="region" aria-label={name}>
          <Markdown text={read.lines.join('\n')} />
        </div>
      ) : (
        <div className="min-h-0 flex-1">
          <FileLines label={name} lines={read.lines} colours={colours.data ?? null} wrap line={undefined} />
        </div>
      )}
    </div>
  )
}

function Note({ children }: { children: React.ReactNode }) {
  return <p className="px-6 py-16 text-center text-ink-2">{children}</p>
}
