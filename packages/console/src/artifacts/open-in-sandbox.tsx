import type { Session } from '@berth/client'
import { type Artifact, artifactViewOf } from '@berth/contract'
import { ShieldCheck } from 'lucide-react'
import { usePreviewTab } from '../ports/use-preview-tab.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { InlineProblem } from '../ui/states.tsx'

/** Opens HTML or PDF in a tab of another site, where it reaches nothing; nothing for other artifacts. */
export function OpenInSandbox({ session, artifact }: { session: Session; artifact: Artifact }) {
  const can = useSessionCan(session)('view')
  const { sessionId, id, name } = artifact
  const tab = usePreviewTab(`sessions/${encodeURIComponent(sessionId)}/artifacts/${encodeURIComponent(id)}/view`)
  if (artifactViewOf(name) === null) return null
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line bg-surface px-4 py-2.5">
      <p className="min-w-48 flex-1 text-xs text-ink-2">
        An agent made this. In a sandbox of another site it reaches neither the network nor Berth.
      </p>
      <Button verdict={can} busy={tab.isPending} onClick={tab.open}>
        <ShieldCheck className="size-3.5" aria-hidden /> Open in a sandbox
      </Button>
      {tab.error !== null && (
        <div className="basis-full">
          <InlineProblem error={tab.error} />
        </div>
      )}
    </div>
  )
}
