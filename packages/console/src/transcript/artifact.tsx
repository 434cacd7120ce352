import { type ArtifactRow, formatBytes } from '@berth/client/transcript'
import { useMutation } from '@tanstack/react-query'
import { Download, FileText } from 'lucide-react'
import { saveFile } from '../api/save-file.ts'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'

/** A file that the agent left, which a press saves. */
export function Artifact({ row, sessionId }: { row: ArtifactRow; sessionId: string }) {
  const name = printableLine(row.name)
  const save = useMutation({ mutationFn: () => saveArtifact(sessionId, row) })
  return (
    <div className="py-1 pl-[1.875rem]">
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

/** Saves an Artifact as a file. */
function saveArtifact(sessionId: string, { artifactId, name }: ArtifactRow): Promise<void> {
  return saveFile(
    `v1/sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(artifactId)}/content`,
    name,
  )
}
