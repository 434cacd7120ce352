import { BerthError, type Session } from '@berth/client'
import type { PortList } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { ExternalLink, MonitorPlay, Radio } from 'lucide-react'
import { call } from '../api/client.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { printableLine } from '../ui/printable.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { portsQuery } from './queries.ts'
import { StartPreview, TimedPreview } from './timed-preview.tsx'
import { usePreviewTab } from './use-preview-tab.ts'

/** The servers in the sandbox, and the way to look at them. */
export function Ports({ session }: { session: Session }) {
  const ports = useQuery({ ...portsQuery(session.id), enabled: session.workspace.state === 'attached' })
  if (session.workspace.state !== 'attached' || isGone(ports.error)) {
    return (
      <EmptyState icon={MonitorPlay} title="No sandbox" action={<StartPreview session={session} />}>
        A preview brings the sandbox back and keeps it running for 15 minutes, to open what it serves.
      </EmptyState>
    )
  }
  if (ports.isError) return <ErrorState error={ports.error} retry={() => void ports.refetch()} />
  if (ports.data === undefined) return <LoadingLines label="the ports" />
  const { data } = ports
  const { preview, previewCommand } = data
  if (data.atRest && preview === undefined) {
    return (
      <EmptyState icon={MonitorPlay} title="The sandbox is paused" action={<StartPreview session={session} />}>
        Programs run while the agent works. A preview keeps the sandbox running for 15 minutes
        {previewCommand === undefined ? (
          ', with what the agent left running.'
        ) : (
          <>
            {' '}
            and runs <code className="font-mono text-[0.8125rem]">{printableLine(previewCommand.command)}</code>.
          </>
        )}
      </EmptyState>
    )
  }
  if (data.ports.length === 0 && preview === undefined) {
    return (
      <EmptyState icon={Radio} title="Nothing listens yet" action={<StartPreview session={session} />}>
        As soon as a program in the sandbox listens on a port, it shows up here.
      </EmptyState>
    )
  }
  return (
    <div className="flex flex-col gap-3 p-4 lg:p-5">
      {preview === undefined ? (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <p className="min-w-48 flex-1 text-xs text-ink-3">Programs run as long as the agent works.</p>
          <StartPreview session={session} />
        </div>
      ) : (
        <TimedPreview session={session} preview={preview} ports={data} />
      )}
      {!data.canPreview && (
        <p className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
          Previews need a domain of their own. An operator sets <code className="font-mono">BERTH_PREVIEW_DOMAIN</code>.
        </p>
      )}
      <ul className="divide-y divide-line rounded-lg border border-line empty:hidden">
        {declaredFirst(data).map(port => (
          <PortRow key={port} session={session} port={port} ports={data} />
        ))}
      </ul>
      {data.ports.length > 0 && (
        <p className="text-xs text-ink-3">
          A preview opens at an address of its own that only this browser can use. It ends with the sandbox.
        </p>
      )}
    </div>
  )
}

/** Returns the ports, the one of the environment's preview first. */
const declaredFirst = ({ ports, previewCommand }: PortList): readonly number[] =>
  ports.toSorted((left, right) => Number(right === previewCommand?.port) - Number(left === previewCommand?.port))

function PortRow({ session, port, ports }: { session: Session; port: number; ports: PortList }) {
  const can = useSessionCan(session)('preview')
  const path = `sessions/${session.id}/ports/${port}/preview`
  const preview = usePreviewTab(path)
  const end = useMutation({ mutationFn: () => call('DELETE', path) })
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3.5 py-2.5">
      <span className="dot bg-dot-good" aria-hidden />
      <span className="font-mono text-[0.8125rem] tabular-nums">
        <span className="text-ink-3">localhost:</span>
        {port}
      </span>
      <span className="ml-auto flex gap-2">
        <Button variant="quiet" verdict={can} busy={end.isPending} onClick={() => end.mutate()}>
          Close previews
        </Button>
        <Button
          variant={port === ports.previewCommand?.port ? 'primary' : 'plain'}
          verdict={can}
          disabled={!ports.canPreview}
          busy={preview.isPending}
          onClick={preview.open}
        >
          <ExternalLink className="size-3.5" aria-hidden /> Open port {port}
        </Button>
      </span>
      {(preview.error ?? end.error) !== null && (
        <div className="basis-full">
          <InlineProblem error={preview.error ?? end.error} />
        </div>
      )}
    </li>
  )
}

const isGone = (error: unknown): boolean => error instanceof BerthError && error.code === 'cloud_workspace_expired'
