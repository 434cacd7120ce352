import { useMutation } from '@tanstack/react-query'
import { Confirm } from '../ui/confirm.tsx'
import { counted } from '../ui/format.ts'
import { printableLine } from '../ui/printable.ts'
import { InlineProblem } from '../ui/states.tsx'
import type { ListedSession } from './list-data.ts'
import { archiveListed } from './marks.ts'

/** So many are named; the others are counted. */
const MOST_NAMED = 10

/** Asks before Sessions are archived: that is for good. */
export function ArchiveDialog({ listed, onClose }: { listed: readonly ListedSession[]; onClose: () => void }) {
  const archive = useMutation({
    // One after another: after a fault, the list still has the rest.
    mutationFn: async () => {
      for (const one of listed) await archiveListed(one)
    },
    onSuccess: onClose,
  })
  const [first] = listed
  const works = listed.filter(({ state }) => state.phase !== 'idle').length
  return (
    <Confirm
      title={listed.length === 1 ? 'Archive this Session?' : `Archive ${counted(listed.length, 'Session')}?`}
      act="Archive for good"
      busy={archive.isPending}
      problem={<InlineProblem error={archive.error} />}
      onAct={() => archive.mutate()}
      onClose={onClose}
    >
      {listed.length > 1 && (
        <ul className="list-disc pl-5 text-ink">
          {listed.slice(0, MOST_NAMED).map(({ session }) => (
            <li key={session.id} className="truncate">
              {printableLine(session.title)}
            </li>
          ))}
          {listed.length > MOST_NAMED && <li>and {listed.length - MOST_NAMED} more</li>}
        </ul>
      )}
      <p>
        {listed.length === 1 && first !== undefined ? (
          <>
            <strong className="font-medium text-ink">{printableLine(first.session.title)}</strong> stays readable, but
            can never be continued.{works > 0 && ' What runs is stopped.'}
          </>
        ) : (
          <>
            They stay readable, but can never be continued.
            {works > 0 && ` ${counted(works, 'agent is', 'agents are')} working, and stopped.`}
          </>
        )}
      </p>
    </Confirm>
  )
}
