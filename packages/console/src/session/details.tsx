import type { Session } from '@berth/client'
import { type Effort, efforts, emptyTreeOid } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Copy } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { berth } from '../api/client.ts'
import { usesModel } from '../api/lacks-model.ts'
import { queryClient, sessionQuery } from '../api/queries.ts'
import { publicationsQuery } from '../changes/queries.ts'
import { to } from '../routing/to.ts'
import { Figures } from '../transcript/figures.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { Field, inputClass, Select } from '../ui/field.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { costQuery } from './cost.tsx'
import { Egress } from './egress.tsx'
import { editorHandOver, type HandOver, terminalHandOvers } from './hand-over.ts'
import { useLog } from './logs.ts'
import { useSessionCan } from './use-session-can.ts'

const workspaces = { attached: 'Running', expired: 'Released', unavailable: 'None yet' } as const

/** The facts of a Session, and the ways to take it over. */
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
            {' · '}
            <Link {...to.compare(session.parent.sessionId, session.id)} className="text-accent hover:underline">
              Compare
            </Link>
          </Fact>
        )}
        <Fact name="Created">{new Date(session.createdAt).toLocaleString()}</Fact>
        <Fact name="Id">
          <code className="font-mono text-xs [overflow-wrap:anywhere]">{session.id}</code>
        </Fact>
      </dl>
      <Spent session={session} />
      <Egress session={session} />
      <GoOn session={session} />
      {usesModel(session.runtime) && <EffortChoice session={session} />}
      <BudgetField key={session.budget?.costUsd} session={session} />
    </div>
  )
}

/** The cost of all Runs of the Session. */
function Spent({ session }: { session: Session }) {
  const changed = useLog(session.id, ({ view }) => view.changedAt)
  const { data } = useQuery(costQuery(session.id, changed))
  if (data === undefined || data.costUsd === 0) return null
  return (
    <section aria-labelledby="spent" className="flex flex-col gap-2">
      <h2 id="spent" className="text-sm font-semibold">
        Cost
      </h2>
      <Figures of={data} />
    </section>
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

/** Sets the amount that the Session may spend on models. A Run that waits for more goes on once it has it. */
function BudgetField({ session }: { session: Session }) {
  const can = useSessionCan(session)
  const before = String(session.budget?.costUsd ?? '')
  const [typed, setTyped] = useState(before)
  const change = useMutation({
    mutationFn: () => {
      const budget = typed === '' ? null : { costUsd: Number(typed) }
      return berth.call('updateSession', { sessionId: session.id, body: { budget } })
    },
    onSuccess: answer => queryClient.setQueryData(sessionQuery(session.id).queryKey, answer.session),
  })
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={event => {
        event.preventDefault()
        if (can('rename').allowed) change.mutate()
      }}
    >
      <Field label="Budget (US dollars)" hint="What all its Runs may spend on models. Then they ask how to go on.">
        {attributes => (
          <div className="flex gap-2">
            <input
              {...attributes}
              type="number"
              min={0.01}
              step="any"
              placeholder="No bound"
              value={typed}
              onChange={event => setTyped(event.target.value)}
              className={`${inputClass} tabular-nums`}
            />
            <Button type="submit" verdict={can('rename')} busy={change.isPending} disabled={typed === before}>
              Set
            </Button>
          </div>
        )}
      </Field>
      <InlineProblem error={change.error} />
    </form>
  )
}
