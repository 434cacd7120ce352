import { useMutation } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Overlay } from '../ui/overlay.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import type { ListedSession } from './list-data.ts'
import { archiveListed } from './marks.ts'

/** Asks before a Session is archived: that is for good. */
export function ArchiveDialog({ listed, onClose }: { listed: ListedSession; onClose: () => void }) {
  const archive = useMutation({ mutationFn: () => archiveListed(listed), onSuccess: onClose })
  return (
    <Overlay title="Archive this Session?" onClose={onClose}>
      <div className="flex flex-col gap-4 px-5 pb-5">
        <p className="text-ink-2">
          <strong className="font-medium text-ink">{printableLine(listed.session.title)}</strong> stays readable, but
          can never be continued.{listed.state.phase !== 'idle' && ' What runs is stopped.'}
        </p>
        <InlineProblem error={archive.error} />
        <div className="flex gap-2">
          <Button look="danger" busy={archive.isPending} onClick={() => archive.mutate()}>
            Archive for good
          </Button>
          <Button onClick={onClose}>Keep</Button>
        </div>
      </div>
    </Overlay>
  )
}
