import type { Compute, OwnHost } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Plus, Server } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { counted } from '../../ui/format.ts'
import { printableLine } from '../../ui/printable.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../../ui/states.tsx'
import { type Dialog, useDialog } from '../dialogs.ts'
import { ShownOnce } from '../form-dialog.tsx'
import { Part } from '../limits/limits-page.tsx'
import { useOrganizationCan } from '../organization-can.ts'
import { SectionPage } from '../section-page.tsx'
import { AdmitDialog, LostDialog, RemoveDialog, RunsOnDialog } from './compute-dialogs.tsx'
import { obstacleOf, ordersOf, startOf, stateOf, toneOf } from './compute-labels.ts'
import { computeQuery, markHost } from './queries.ts'

/** Which machines the organization runs on, and those that it brings itself. */
export function ComputePage() {
  return (
    <SectionPage title="Machines" needs="administrator" reading actions={<Admit />}>
      <Machines />
    </SectionPage>
  )
}

function Admit() {
  const can = useOrganizationCan()
  const dialog = useDialog()
  return (
    <Button variant="primary" verdict={can('changeCompute')} onClick={() => dialog.open('admit')}>
      <Plus className="size-4" aria-hidden /> Add a machine
    </Button>
  )
}

function Machines() {
  const dialog = useDialog()
  const found = useQuery(computeQuery)
  const [token, setToken] = useState<string | null>(null)
  if (found.isPending) return <LoadingLines label="the machines" />
  if (found.data === undefined) return <ErrorState error={found.error} retry={() => void found.refetch()} />
  const compute = found.data
  const chosen = compute.hosts.find(({ id }) => id === dialog.of)
  return (
    <div className="flex flex-col gap-8">
      <RunsOn compute={compute} dialog={dialog} />
      <OwnHosts hosts={compute.hosts} dialog={dialog} />
      {dialog.name === 'runs-on' && <RunsOnDialog compute={compute} onClose={dialog.close} />}
      {dialog.name === 'admit' && token === null && <AdmitDialog onAdmitted={setToken} onClose={dialog.close} />}
      {dialog.name === 'lost' && chosen !== undefined && <LostDialog host={chosen} onClose={dialog.close} />}
      {dialog.name === 'remove' && chosen !== undefined && <RemoveDialog host={chosen} onClose={dialog.close} />}
      {token !== null && (
        <ShownOnce
          title="Start the machine"
          label="Run this on it"
          value={startOf(token)}
          onDone={() => {
            setToken(null)
            dialog.close()
          }}
        >
          The token is shown this once. Whoever has it can take this machine's place and see your Sessions.
        </ShownOnce>
      )}
    </div>
  )
}

function RunsOn({ compute, dialog }: { compute: Compute; dialog: Dialog }) {
  const can = useOrganizationCan()
  const isBound = compute.runsOn === 'own_hosts'
  const obstacle = obstacleOf(compute)
  return (
    <Part
      title="Where Sessions run"
      about={
        isBound
          ? 'On machines of your organization alone.'
          : 'On your own machines first, and on those that your operator shares.'
      }
    >
      {obstacle !== null && (
        <p role="status" className="rounded-md border border-warning-line bg-warning-soft px-3 py-2 text-[0.8125rem]">
          {obstacle}
        </p>
      )}
      <div>
        <Button verdict={can('changeCompute')} onClick={() => dialog.open('runs-on')}>
          {isBound ? 'Run on any machine' : 'Run on your own machines only'}
        </Button>
      </div>
    </Part>
  )
}

function OwnHosts({ hosts, dialog }: { hosts: readonly OwnHost[]; dialog: Dialog }) {
  return (
    <Part
      title="Your machines"
      about="Each dials the service by itself and holds sandboxes of your organization alone."
    >
      {hosts.length === 0 ? (
        <EmptyState icon={Server} title="No machine of your own">
          Add one, and start <code className="font-mono">berth host</code> on it with its token.
        </EmptyState>
      ) : (
        <ul className="border-t border-line">
          {hosts.map(host => (
            <Machine key={host.id} host={host} dialog={dialog} />
          ))}
        </ul>
      )}
    </Part>
  )
}

const dots = { good: 'bg-dot-good', quiet: 'bg-dot-quiet', bad: 'bg-bad' } as const

function Machine({ host, dialog }: { host: OwnHost; dialog: Dialog }) {
  const can = useOrganizationCan()
  const mark = useMutation({ mutationFn: (to: Parameters<typeof markHost>[1]) => markHost(host, to) })
  const orders = ordersOf(host)
  const name = printableLine(host.name)
  const held =
    host.capacity === null
      ? counted(host.sandboxes, 'sandbox', 'sandboxes')
      : `${host.sandboxes.toLocaleString('en')} of ${counted(host.capacity, 'sandbox', 'sandboxes')}`
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line py-3 text-[0.8125rem]">
      <div className="flex min-w-0 flex-col gap-1 max-md:w-full md:flex-1">
        <p className="truncate font-medium">{name}</p>
        <p className="flex flex-wrap items-center gap-2 text-xs text-ink-3">
          <span className="flex items-baseline gap-2">
            <span className={`dot shrink-0 ${dots[toneOf(host)]}`} aria-hidden />
            {stateOf(host)}
          </span>
          <span className="tabular-nums">{held}</span>
          <span>{host.pool}</span>
          {host.labels.map(label => (
            <span key={label} className="font-mono">
              {printableLine(label)}
            </span>
          ))}
        </p>
        <InlineProblem error={mark.error} />
      </div>
      <div className="flex flex-wrap gap-x-1 max-md:-ml-3">
        {orders.map(([label, to]) => (
          <Button
            key={label}
            variant="quiet"
            aria-label={`${label} ${name}`}
            busy={mark.isPending && mark.variables === to}
            verdict={can('changeCompute')}
            onClick={() => mark.mutate(to)}
          >
            {label}
          </Button>
        ))}
        {host.state === 'away' && host.sandboxes > 0 && (
          <Button
            variant="quiet"
            aria-label={`Declare ${name} lost`}
            verdict={can('changeCompute')}
            onClick={() => dialog.open('lost', host.id)}
          >
            Declare lost
          </Button>
        )}
        <Button
          variant="quiet"
          aria-label={`Remove ${name}`}
          verdict={can('changeCompute')}
          onClick={() => dialog.open('remove', host.id)}
        >
          Remove
        </Button>
      </div>
    </li>
  )
}
