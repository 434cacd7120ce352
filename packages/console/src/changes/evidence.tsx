import type { Publication } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { FileBadge } from 'lucide-react'
import { saveFile } from '../api/save-file.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'

/**
 * The signed statement on the commit of a verified Publication: saved under the name that `berth verify` looks for beside a
 * repository. Absent if the Publication has none.
 */
export function Evidence({ publication }: { publication: Publication }) {
  const { id, sessionId, statement, result } = publication
  const save = useMutation({
    mutationFn: (commit: string) =>
      saveFile(`v1/sessions/${sessionId}/publications/${id}/statement`, `statement-${commit.slice(0, 12)}.intoto.json`),
  })
  if (statement === undefined || result === undefined) return null
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1 text-xs text-ink-2">
      <FileBadge className="size-4 shrink-0 text-good" aria-hidden />
      <span>Evidence: a signed statement on this commit.</span>
      <span className="flex items-center gap-1.5">
        <Button onClick={() => save.mutate(result.commitSha)} busy={save.isPending}>
          Download the statement
        </Button>
        <a
          href="/docs/evidence.html"
          target="_blank"
          rel="noopener"
          className="rounded-md px-2 py-1.5 text-accent underline"
        >
          How to verify it
        </a>
      </span>
      <InlineProblem error={save.error} />
    </div>
  )
}
