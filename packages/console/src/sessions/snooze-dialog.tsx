import { useMutation } from '@tanstack/react-query'
import { serverNow } from '../api/server-clock.ts'
import { Button } from '../ui/button.tsx'
import { counted } from '../ui/format.ts'
import { Overlay } from '../ui/overlay.tsx'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import type { ListedSession } from './list-data.ts'
import { snoozeSession } from './marks.ts'
import { snoozeChoices, snoozeText } from './snooze.ts'

/** Asks until when Sessions leave the person's list. */
export function SnoozeDialog({ listed, onClose }: { listed: readonly ListedSession[]; onClose: () => void }) {
  const snooze = useMutation({
    mutationFn: async (snoozed: Parameters<typeof snoozeSession>[1]) => {
      for (const { session } of listed) await snoozeSession(session.id, snoozed)
    },
    onSuccess: onClose,
  })
  const [first] = listed
  if (first === undefined) return null
  const isOne = listed.length === 1
  return (
    <Overlay title={isOne ? 'Snooze this Session?' : `Snooze ${counted(listed.length, 'Session')}?`} onClose={onClose}>
      <div className="flex flex-col gap-4 px-5 pb-5">
        <p className="text-[0.8125rem] text-ink-2">
          {isOne ? (
            <>
              <strong className="font-medium text-ink">{printableLine(first.session.title)}</strong> leaves your list.
            </>
          ) : (
            'They leave your list.'
          )}{' '}
          Whatever you choose, what asks something or ends a Run comes back at once. The agents go on.
        </p>
        <div className="flex flex-col gap-2">
          {snoozeChoices(new Date(serverNow())).map(([label, snoozed]) => (
            <Button key={label} busy={snooze.isPending} onClick={() => snooze.mutate(snoozed)}>
              <span className="flex flex-1 justify-between gap-4">
                {label}
                {snoozed.until !== undefined && (
                  <span className="text-ink-3 tabular-nums">{snoozeText(snoozed).replace('Until ', '')}</span>
                )}
              </span>
            </Button>
          ))}
        </div>
        <InlineProblem error={snooze.error} />
      </div>
    </Overlay>
  )
}
