import type { Session } from '@berth/client'
import { type Effort, efforts, emptyTreeOid } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Archive, Copy, GitFork } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { publicationsQuery } from '../changes/queries.ts'
import { to } from '../routing/to.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { Field, inputClass, Select } from '../ui/field.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { editorHandOver, type HandOver, terminalHandOvers } from './hand-over.ts'
import { useSessionCan } from './use-session-can.ts'

const workspaces = { attached: 'Running', expired: 'Released', unavailable: 'None yet' } as const

/** The facts of a Session, the way to take it over, and the way to close it. */
export function Details({ session }: { session: Session }) {
  const { source, environment, workspace } = session
  return (
    <div className="flex flex-col gap-7 p-4 lg:p-5">
      <dl className="grid grid-cols-[7rem_minmax(0,1fr)] gap-y-2 text-[0.8125rem]">
        {source !== undefined && (
          <Fact name="Repository">
            {source.label} · {source.baseBranch}{' '}
            {source.baseOid === emptyTreeOid ? (
              <span className="text-ink-3">without a commit</span>
            ) : (
              <code className="font-mono text-xs text-ink-3">{source.baseOid.slice(0, 8)}</code>
            )}
          </Fact>
        )}
        <Fact name="Agent">{session.runtime ?? 'native'}</Fact>
        {session.model !== undefined && <Fact name="Model">{session.model}</Fact>}
        <Fact name="Environment">
          {environment === null
            ? 'None'
            : `${environment.name}${environment.revision === null ? '' : ` r${environment.revision}`}`}
        </Fact>
        <Fact name="Sandbox">
          {workspaces[workspace.state]}
          {workspace.expiresAt !== null && workspace.state === 'attached' && (
            <> until {new Date(workspace.expiresAt).toLocaleTimeString()}</>
          )}
        </Fact>
        {session.parent !== null && (
          <Fact name="Forked from">
            <Link {...to.session(session.parent.sessionId)} className="text-accent hover:underline">
              another Session
            </Link>
          </Fact>
        )}
        <Fact name="Created">{new Date(session.createdAt).toLocaleString()}</Fact>
        <Fact name="Id">
          <code className="font-mono text-xs [overflow-wrap:anywhere]">{session.id}</code>
        </Fact>
      </dl>
      <GoOn session={session} />
      <EffortChoice session={session} />
      <Rename key={session.title} session={session} />
      <Fork session={session} />
      <ArchiveSession session={session} />
    </div>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </>
  )
}

/** The ways to go on with a Session elsewhere: commands to copy. */
function GoOn({ session }: { session: Session }) {
  const hasSource = session.source !== undefined
  const publications = useQuery({ ...publicationsQuery(session.id), enabled: hasSource }).data ?? []
  const editor = editorHandOver(publications)
  return (
    <>
      <Commands
        id="in-a-terminal"
        title="Continue in a terminal"
        commands={terminalHandOvers(location.origin, session.id)}
      >
        With <code className="font-mono">berth</code> on your machine. Sign in there once.
      </Commands>
      {hasSource && (
        <Commands id="in-an-editor" title="Continue in your editor" commands={editor === null ? [] : [editor]}>
          {editor === null
            ? 'Publish the changes first: they come to your checkout as a branch.'
            : 'In a checkout of the repository. The branch has what was published last.'}
        </Commands>
      )}
    </>
  )
}

function Commands(props: { id: string; title: string; commands: readonly HandOver[]; children?: ReactNode }) {
  const { id, title, commands } = props
  const [copied, setCopied] = useState<string | null>(null)
  return (
    <section aria-labelledby={id} className="flex flex-col gap-2">
      <h2 id={id} className="text-sm font-semibold">
        {title}
      </h2>
      {props.children !== undefined && <p className="text-[0.8125rem] text-ink-2">{props.children}</p>}
      {commands.map(({ name, command }) => (
        <div key={name} className="flex items-center gap-2 rounded-md border border-line bg-code py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 truncate font-mono text-xs">{command}</code>
          <IconButton
            label={`Copy the command ${name}`}
            onClick={async () => {
              await navigator.clipboard.writeText(command)
              setCopied(name)
            }}
          >
            <Copy className="size-4" aria-hidden />
          </IconButton>
        </div>
      ))}
      {commands.length > 0 && (
        <p role="status" className={copied === null ? 'sr-only' : 'text-xs text-ink-3'}>
          {copied === null ? '' : `Copied the command ${copied}.`}
        </p>
      )}
    </section>
  )
}

function Rename({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const [title, setTitle] = useState(session.title)
  const rename = useMutation({
    mutationFn: () => berth.call('updateSession', { sessionId: session.id, body: { title } }),
    onSuccess: answer => {
      queryClient.setQueryData(sessionQuery(session.id).queryKey, answer.session)
      return queryClient.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={event => {
        event.preventDefault()
        if (can('rename').allowed) rename.mutate()
      }}
    >
      <Field label="Title">
        {attributes => (
          <div className="flex gap-2">
            <input
              {...attributes}
              required
              maxLength={160}
              value={title}
              onChange={event => setTitle(event.target.value)}
              className={inputClass}
            />
            <Button
              type="submit"
              verdict={can('rename')}
              busy={rename.isPending}
              disabled={title.trim() === '' || title === session.title}
            >
              Rename
            </Button>
          </div>
        )}
      </Field>
      <InlineProblem error={rename.error} />
    </form>
  )
}

/** Sets how hard the model of the next Turn may think. */
function EffortChoice({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const change = useMutation({
    mutationFn: (effort: Effort | null) => berth.call('updateSession', { sessionId: session.id, body: { effort } }),
    onSuccess: answer => queryClient.setQueryData(sessionQuery(session.id).queryKey, answer.session),
  })
  return (
    <div className="flex flex-col gap-2">
      <Field label="Effort" hint="How hard the model may think, from the next Turn on.">
        {attributes => (
          <Select
            {...attributes}
            value={session.effort ?? ''}
            disabled={!can('rename').allowed || change.isPending}
            onChange={event => change.mutate(efforts.find(effort => effort === event.target.value) ?? null)}
          >
            <option value="">Default of the model</option>
            {efforts.map(effort => (
              <option key={effort}>{effort}</option>
            ))}
          </Select>
        )}
      </Field>
      <InlineProblem error={change.error} />
    </div>
  )
}

/** Makes another Session from where the newest stored Run ended, and goes there. */
function Fork({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const navigate = useNavigate()
  // Kept until the answer is here: a second try after a lost one makes no second fork.
  const id = useRef(crypto.randomUUID())
  const fork = useMutation({
    mutationFn: () => berth.call('forkSession', { sessionId: session.id, body: { id: id.current } }),
    onSuccess: async ({ session: made }) => {
      id.current = crypto.randomUUID()
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      await navigate(to.session(made.id))
    },
  })
  if (session.archivedAt !== undefined) return null
  return (
    <section aria-labelledby="fork" className="flex flex-col items-start gap-2">
      <h2 id="fork" className="text-sm font-semibold">
        Fork
      </h2>
      <p className="text-[0.8125rem] text-ink-2">
        Try another way from where the newest Run ended. This Session stays as it is.
      </p>
      <Button verdict={can('fork')} busy={fork.isPending} onClick={() => fork.mutate()}>
        <GitFork className="size-4" aria-hidden />
        Fork this Session
      </Button>
      <InlineProblem error={fork.error} />
    </section>
  )
}

/** Archiving is for good, so the button asks once more in its place. */
function ArchiveSession({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const [confirming, setConfirming] = useState(false)
  const archive = useMutation({
    mutationFn: () => berth.call('archiveSession', { sessionId: session.id }),
    onSuccess: () => {
      setConfirming(false)
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      return queryClient.invalidateQueries({ queryKey: ['session', session.id] })
    },
  })
  if (session.archivedAt !== undefined) return null
  return (
    <section aria-labelledby="archive" className="flex flex-col items-start gap-2">
      <h2 id="archive" className="text-sm font-semibold">
        Archive
      </h2>
      <p className="text-[0.8125rem] text-ink-2">
        An archived Session stays readable, but can never be continued.{' '}
        {session.activeRunId !== undefined && 'What runs is stopped.'}
      </p>
      <InlineProblem error={archive.error} />
      {confirming ? (
        <div className="flex gap-2">
          <Button look="danger" busy={archive.isPending} onClick={() => archive.mutate()}>
            Archive for good
          </Button>
          <Button onClick={() => setConfirming(false)}>Keep</Button>
        </div>
      ) : (
        <Button verdict={can('archive')} hint="above" onClick={() => setConfirming(true)}>
          <Archive className="size-4" aria-hidden /> Archive…
        </Button>
      )}
    </section>
  )
}
