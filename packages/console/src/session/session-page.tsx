import { statusLabel } from '@berth/client'
import { useSuspenseQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ChevronLeft, PanelRight, Search, Square } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { sessionQuery } from '../api/queries.ts'
import { ChangeCounts } from '../changes/change-counts.tsx'
import { CitedFiles } from '../files/cited-file.tsx'
import { to } from '../routing/to.ts'
import { Transcript } from '../transcript/transcript.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { EarlyInput } from '../ui/early-input.tsx'
import { Title } from '../ui/page.tsx'
import { ErrorState, LoadingLines } from '../ui/states.tsx'
import { StatusDot } from '../ui/status-dot.tsx'
import { Composer } from './composer.tsx'
import { logOf, useLog } from './logs.ts'
import { SessionTitle } from './session-title.tsx'
import { useSessionCan } from './use-session-can.ts'
import { useStop } from './use-stop.ts'

/** Comes right behind the page, before anything is asked: an approval has a deadline. */
const above = import('./above-message.tsx')
// Where it is shown, its absence is told; here nobody waits for it.
above.catch(() => undefined)
const AboveMessage = lazy(async () => ({ default: (await above).AboveMessage }))
/** Reading needs none of them, so they come behind the page. */
const Cost = lazy(async () => ({ default: (await import('./cost.tsx')).Cost }))
const FindBar = lazy(async () => ({ default: (await import('./find-bar.tsx')).FindBar }))
const WorkActions = lazy(async () => ({ default: (await import('./work-actions.tsx')).WorkActions }))
const WorkPanel = lazy(async () => ({ default: (await import('./work-panel.tsx')).WorkPanel }))

const route = getRouteApi('/shell/sessions/$sessionId')

/** One Session: the transcript on the left, its results on the right; on phones one of the two. */
export function SessionPage() {
  const { sessionId } = route.useParams()
  const search = route.useSearch()
  const { panel } = search
  const [finding, setFinding] = useState(false)
  const typed = useRef('')
  const find = (shown: boolean) => {
    typed.current = ''
    setFinding(shown)
  }
  const session = useSuspenseQuery(sessionQuery(sessionId)).data
  const failure = useLog(sessionId, snapshot => snapshot.failure)
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Title>{session.title}</Title>
      <Header sessionId={sessionId} finding={finding} onFind={() => find(!finding)} />
      {finding && (
        <Suspense
          fallback={
            <EarlyInput
              label="Find in this Session"
              typed={typed}
              onClose={() => find(false)}
              className="flex items-center gap-2 border-b border-line bg-surface px-3 py-1.5 lg:px-6"
              inputClass="py-1 text-sm max-lg:text-base"
            />
          }
        >
          <FindBar sessionId={sessionId} search={search} typed={typed} onClose={() => find(false)} />
        </Suspense>
      )}
      <div className={`grid min-h-0 flex-1 ${panel === undefined ? '' : 'lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]'}`}>
        <div className={`flex min-h-0 min-w-0 flex-col ${panel === undefined ? '' : 'max-lg:hidden'}`}>
          <CitedFiles value={session}>
            {failure === null ? (
              <Transcript sessionId={sessionId} event={search.event} />
            ) : (
              <ErrorState error={failure} retry={() => logOf(sessionId).retry()} />
            )}
            <div className="mx-auto flex w-full max-w-3xl flex-col gap-2 px-4 pb-3 lg:px-6">
              <Suspense>
                <AboveMessage session={session} />
              </Suspense>
              <Composer session={session} />
            </div>
          </CitedFiles>
        </div>
        {panel !== undefined && (
          <section aria-label="Work" className="flex min-h-0 min-w-0 flex-col border-line lg:border-l">
            <Suspense fallback={<LoadingLines label="the panel" />}>
              <WorkPanel session={session} panel={panel} />
            </Suspense>
          </section>
        )}
      </div>
    </div>
  )
}

function Header(props: { sessionId: string; finding: boolean; onFind: () => void }) {
  const { sessionId } = props
  const session = useSuspenseQuery(sessionQuery(sessionId)).data
  const { panel } = route.useSearch()
  const connection = useLog(sessionId, snapshot => snapshot.connection)
  const can = useSessionCan(session)
  const stop = useStop(session)
  const [editing, setEditing] = useState(false)
  return (
    <header className="flex min-h-13 items-center gap-2.5 border-b border-line px-3 lg:px-6">
      <Link
        {...to.sessions()}
        aria-label="All Sessions"
        className="grid size-9 place-items-center rounded-md text-ink-2 hover:bg-hover lg:hidden"
      >
        <ChevronLeft className="size-5" aria-hidden />
      </Link>
      <div className="flex min-w-0 gap-x-2.5 max-sm:flex-col sm:items-center">
        <SessionTitle session={session} editable={can('rename').allowed} editing={editing} onEdit={setEditing} />
        <span className="flex min-w-0 flex-wrap items-center gap-x-2.5 text-xs text-ink-2 sm:shrink-0">
          <span className="inline-flex items-center gap-1.5 sm:rounded-full sm:border sm:border-line sm:px-2 sm:py-0.5">
            <StatusDot status={session.status} />
            <span aria-hidden>{statusLabel(session.status)}</span>
          </span>
          {session.changes !== null && session.changes.files > 0 && (
            <Link {...to.session(sessionId, { panel: 'changes' })} title="Show the changes" className="hover:underline">
              <ChangeCounts changes={session.changes} />
            </Link>
          )}
        </span>
      </div>
      <span role="status" className="shrink-0 text-xs text-warning">
        {connection === 'reconnecting' ? 'Reconnecting…' : ''}
      </span>
      <div className="ml-auto flex shrink-0 items-center gap-1.5">
        <Suspense>
          <Cost session={session} />
        </Suspense>
        {session.activeRunId !== undefined && (
          <Button verdict={can('stop')} busy={stop.isPending} onClick={() => stop.mutate()}>
            <Square className="size-3.5" aria-hidden /> Stop
          </Button>
        )}
        <Suspense>
          <WorkActions session={session} onRename={() => setEditing(true)} onFind={props.onFind} />
        </Suspense>
        <IconButton
          label="Find in this Session"
          aria-pressed={props.finding}
          onClick={props.onFind}
          className="max-sm:hidden!"
        >
          <Search className="size-4" aria-hidden />
        </IconButton>
        <Link
          {...to.session(
            sessionId,
            panel === undefined ? { panel: session.source === undefined ? 'details' : 'changes' } : {},
          )}
          aria-label={panel === undefined ? 'Show the work' : 'Hide the work'}
          title={panel === undefined ? 'Show the work' : 'Hide the work'}
          className={`grid size-8 place-items-center rounded-md hover:bg-hover max-lg:size-9 ${panel === undefined ? 'text-ink-2' : 'bg-selected text-ink'}`}
        >
          <PanelRight className="size-4" aria-hidden />
        </Link>
      </div>
    </header>
  )
}
