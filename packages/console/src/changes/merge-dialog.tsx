import type { Publication } from '@berth/client'
import { GitMerge } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { DialogButtons, Overlay } from '../ui/overlay.tsx'
import { printableLine } from '../ui/printable.ts'
import { UnsentComments } from './unsent-comments.tsx'

/** Asks once before a pull request is merged, and says which commit. */
export function MergeDialog(props: {
  publication: Publication
  sessionId: string
  /** The strategy, as its choice names it. */
  strategy: string
  whenReady: boolean
  busy: boolean
  problem: ReactNode
  onMerge: () => void
  onClose: () => void
}) {
  const { publication, sessionId, strategy, whenReady, busy, problem, onMerge, onClose } = props
  const { title, result } = publication
  const number = result?.pullRequest?.number
  return (
    <Overlay title={whenReady ? `Merge #${number} when it is ready?` : `Merge #${number} now?`} onClose={onClose}>
      <div className="flex flex-col gap-4 px-5 pb-5 text-[0.8125rem]">
        <p className="text-ink-2">
          <strong className="font-medium text-ink">{printableLine(title)}</strong>, commit{' '}
          <code className="font-mono text-xs">{result?.commitSha.slice(0, 12)}</code>: {strategy.toLowerCase()}.
          {whenReady && ' Berth merges it as soon as its checks and reviews allow it, and nothing else.'}
        </p>
        <UnsentComments sessionId={sessionId} />
        {problem}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" busy={busy} onClick={onMerge}>
            <GitMerge className="size-4" aria-hidden /> {whenReady ? 'Merge when ready' : 'Merge'}
          </Button>
        </DialogButtons>
      </div>
    </Overlay>
  )
}
