import { BerthError, type Session } from '@berth/client'
import type { PortList } from '@berth/contract'
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { ExternalLink, MonitorPlay, Radio } from 'lucide-react'
import { call } from '../api/client.ts'
import { useSessionCan } from '../session/use-session-can.ts'
import { Button } from '../ui/button.tsx'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import { usePreviewTab } from './use-preview-tab.ts'

/** No stream tells of ports, so they are asked for while somebody looks. */
const pollMs = 4_000

const portsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ['session', sessionId, 'ports'],
    queryFn: () => call<PortList>('GET', `sessions/${sessionId}/ports`),
    refetchInterval: ({ state }) => (state.status === 'error' ? false : pollMs),
  })

/** The servers in the sandbox, and the way to look at them. */
export function Ports({ session }: { session: Session }) {
  const ports = useQuery({ ...portsQuery(session.id), enabled: session.workspace.state === 'attached' })
  if (session.workspace.state !== 'attached' || isGone(ports.error)) {
    return (
      <EmptyState icon={MonitorPlay} title="No sandbox">
        What the agent starts, such as a development server, can be opened here while its sandbox stands.
      </EmptyState>
    )
  }
  if (ports.isError) return <ErrorState error={ports.error} retry={() => void ports.refetch()} />
  if (ports.data === undefined) return <LoadingLines label="the ports" />
  const { data } = ports
  if (data.atRest) {
    return (
      <EmptyState icon={MonitorPlay} title="The sandbox stands still">
        Programs run while the agent works, or while somebody looks at a terminal. Send a message, and look here again.
      </EmptyState>
    )
  }
  if (data.ports.length === 0) {
    return (
      <EmptyState icon={Radio} title="Nothing listens yet">
        As soon as a program in the sandbox listens on a port, it shows up here.
      </EmptyState>
    )
  }
  return (
    <div className="flex flex-col gap-3 p-4 lg:p-5">
      {!data.canPreview && (
        <p className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
          Previews need a domain of their own. An operator sets <code className="font-mono">BERTH_PREVIEW_DOMAIN</code>.
        </p>
      )}
      <ul className="divide-y divide-line rounded-lg border border-line">
        {data.ports.map(port => (
          <PortRow key={port} session={session} port={port} canPreview={data.canPreview} />
        ))}
      </ul>
      <p className="text-xs text-ink-3">
        A preview opens at an address of its own that only this browser can use. It ends with the sandbox.
      </p>
    </div>
  )
}

function PortRow({ session, port, canPreview }: { session: Session; port: number; canPreview: boolean }) {
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
        <Button look="quiet" verdict={can} busy={end.isPending} onClick={() => end.mutate()}>
          Close previews
        </Button>
        <Button verdict={can} disabled={!canPreview} busy={preview.isPending} onClick={preview.open}>
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
