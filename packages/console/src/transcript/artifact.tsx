import { type ArtifactRow, formatBytes, type Row } from '@berth/client/transcript'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Download, FileText } from 'lucide-react'
import { saveFile } from '../api/save-file.ts'
import { InlinePictures } from '../artifacts/inline-pictures.tsx'
import { isInlinePicture, isSamePicture, type MaybePicture } from '../artifacts/pictures.ts'
import { contentPath } from '../artifacts/queries.ts'
import { to } from '../routing/to.ts'
import { useLog } from '../session/logs.ts'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'

/** A file that the agent left, which a press saves. A picture is shown beside the one of an earlier Run. */
export function Artifact({ row, sessionId }: { row: ArtifactRow; sessionId: string }) {
  const name = printableLine(row.name)
  const picture = pictureOf(sessionId, row)
  const save = useMutation({ mutationFn: () => saveFile(contentPath(picture), row.name) })
  const before = useLog(sessionId, ({ view }) => view.rows.findLast(earlier => isBefore(row, earlier)))
  return (
    <div className="flex flex-col items-start gap-1.5 py-1 pl-[1.875rem]">
      {isInlinePicture(row) && (
        <Link
          {...to.session(sessionId, { panel: 'artifacts', artifact: row.artifactId })}
          aria-label={`Open ${name}`}
          className="block w-full max-w-xl"
        >
          <InlinePictures
            picture={picture}
            before={before?.kind === 'artifact' ? pictureOf(sessionId, before) : undefined}
          />
        </Link>
      )}
      <button
        type="button"
        onClick={() => save.mutate()}
        aria-busy={save.isPending || undefined}
        className="inline-flex max-w-full items-center gap-2.5 rounded-lg border border-line bg-surface px-3 py-2 text-[0.8125rem] hover:border-line-strong"
      >
        <FileText className="size-4 shrink-0 text-ink-3" aria-hidden />
        <span className="truncate">{name}</span>
        <span className="shrink-0 text-xs text-ink-3">{formatBytes(row.sizeBytes)}</span>
        <Download className="size-3.5 shrink-0 text-ink-3" aria-label="Download" />
      </button>
      <InlineProblem error={save.error} />
    </div>
  )
}

const pictureOf = (sessionId: string, { artifactId: id, ...rest }: ArtifactRow): MaybePicture => ({
  ...rest,
  sessionId,
  id,
})

const isBefore = (row: ArtifactRow, earlier: Row): boolean =>
  earlier.kind === 'artifact' && earlier.sequence < row.sequence && isSamePicture(row, earlier)
