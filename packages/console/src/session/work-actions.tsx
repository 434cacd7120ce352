import type { Session } from '@berth/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import {
  Archive,
  Ellipsis,
  GitCompare,
  GitFork,
  GitMerge,
  Link2,
  PencilLine,
  Search,
  SquareTerminal,
} from 'lucide-react'
import { useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { publicationsQuery } from '../changes/queries.ts'
import { to } from '../routing/to.ts'
import { WayOn } from '../sessions/way-on.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { InlineProblem } from '../ui/states.tsx'
import type { SessionAction } from './session-can.ts'
import { useSessionCan } from './use-session-can.ts'

interface Props {
  readonly session: Session
  readonly onRename: () => void
  readonly onFind: () => void
}

/** The one step that goes on with the work, and a menu with the other actions. */
export function WorkActions({ session, onRename, onFind }: Props) {
  const can = useSessionCan(session)
  const navigate = useNavigate()
  const [archiving, setArchiving] = useState(false)
  const fork = useFork(session)
  const forbids = (action: SessionAction) => {
    const verdict = can(action)
    return verdict.allowed ? undefined : verdict.reason
  }
  const renames = useRef(false)
  return (
    <>
      <NextStep session={session} />
      <InlineProblem error={fork.error} />
      <Menu
        label="Actions of this Session"
        trigger={<Ellipsis className="size-4" aria-hidden />}
        triggerClass="inline-grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink data-popup-open:bg-hover max-lg:size-9"
        // The field for the title has the focus by then.
        finalFocus={() => !renames.current}
        onOpen={() => {
          renames.current = false
        }}
      >
        <MenuItem
          icon={PencilLine}
          reason={forbids('rename')}
          onSelect={() => {
            renames.current = true
            onRename()
          }}
        >
          Rename
        </MenuItem>
        <MenuItem icon={GitFork} reason={forbids('fork')} onSelect={() => fork.mutate()}>
          Fork
        </MenuItem>
        {session.parent !== null && (
          <MenuItem
            icon={GitCompare}
            onSelect={() => void navigate(to.compare(session.parent?.sessionId ?? '', session.id))}
          >
            Compare with the original
          </MenuItem>
        )}
        <MenuItem icon={Link2} onSelect={() => void navigator.clipboard.writeText(session.sessionUrl)}>
          Copy link
        </MenuItem>
        <MenuItem
          icon={SquareTerminal}
          reason={forbids('terminal')}
          onSelect={() => void navigate(to.session(session.id, { panel: 'terminal' }))}
        >
          Open in terminal
        </MenuItem>
        <MenuItem icon={Search} onSelect={onFind}>
          Find
        </MenuItem>
        <MenuItem icon={Archive} danger reason={forbids('archive')} onSelect={() => setArchiving(true)}>
          Archive…
        </MenuItem>
      </Menu>
      {archiving && <ArchiveSession session={session} onClose={() => setArchiving(false)} />}
    </>
  )
}

function NextStep({ session }: { session: Session }) {
  const { id, status } = session
  const isOpen = status === 'pull_request_open'
  const publications = useQuery({ ...publicationsQuery(id), enabled: isOpen }).data
  const pull = publications?.find(({ result }) => result?.pullRequest !== undefined)?.result?.pullRequest
  if (status === 'ready_to_review') {
    return (
      <Link {...to.review(id)} className={buttonClass('primary')}>
        Review
      </Link>
    )
  }
  if (isOpen && pull !== undefined) {
    return (
      <Link {...to.session(id, { panel: 'changes', merge: true })} className={buttonClass('primary')}>
        <GitMerge className="size-4 max-sm:hidden" aria-hidden /> Merge #{pull.number}
      </Link>
    )
  }
  return status === 'failed' || status === 'stopped' ? <WayOn session={session} variant="button" /> : null
}

/** Makes another Session from where the newest stored Run ended, and goes there. */
function useFork(session: Session) {
  const navigate = useNavigate()
  // Kept until the answer is here: a second try after a lost one makes no second fork.
  const id = useRef(crypto.randomUUID())
  return useMutation({
    mutationFn: () => berth.call('forkSession', { sessionId: session.id, body: { id: id.current } }),
    onSuccess: async ({ session: made }) => {
      id.current = crypto.randomUUID()
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      await navigate(to.session(made.id))
    },
  })
}

function ArchiveSession({ session, onClose }: { session: Session; onClose: () => void }) {
  const archive = useMutation({
    mutationFn: () => berth.call('archiveSession', { sessionId: session.id }),
    onSuccess: () => {
      onClose()
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      return queryClient.invalidateQueries({ queryKey: ['session', session.id] })
    },
  })
  return (
    <Confirm
      title="Archive this Session?"
      act="Archive for good"
      busy={archive.isPending}
      problem={<InlineProblem error={archive.error} />}
      onAct={() => archive.mutate()}
      onClose={onClose}
    >
      <p>
        It stays readable, but can never be continued.
        {session.activeRunId !== undefined && ' What runs is stopped.'}
      </p>
    </Confirm>
  )
}
