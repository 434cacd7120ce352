import { formatDuration } from '@berth/client/transcript'
import type { OrganizationSettings } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { dollars } from '../../ui/format.ts'
import { ErrorState, LoadingLines } from '../../ui/states.tsx'
import { SectionPage } from '../section-page.tsx'
import { runBounds } from './bounds.ts'
import { BoundsForm } from './bounds-form.tsx'
import { EgressPolicyForm } from './egress-policy-form.tsx'
import { settingsQuery } from './queries.ts'
import { ScopedBudgets } from './scoped-budgets.tsx'

/** The bounds of a Run, the rate limits, and how long data is kept. */
export function LimitsPage() {
  return (
    <SectionPage title="Limits" needs="administrator">
      <Limits />
    </SectionPage>
  )
}

function Limits() {
  const settings = useQuery(settingsQuery)
  if (settings.isPending) return <LoadingLines lines={8} label="the limits" />
  if (settings.data === undefined) {
    return <ErrorState error={settings.error} retry={() => void settings.refetch()} />
  }
  const { run, rate, retention } = settings.data
  return (
    <div className="flex flex-col gap-8">
      <Part
        title="One Run"
        about="An agent that reaches a bound ends its Run and says which. Yours can only tighten what your operator allows, and hold for Runs that start later."
      >
        <BoundsForm label="Bounds of a Run" bounds={runBounds} settings={settings.data} />
        <Facts rows={operatorRows(run.operator)} />
      </Part>
      <Part
        title="People and installations"
        about="What each may spend on models. Runs that reach a limit wait for people, who may raise it, or are refused."
      >
        <ScopedBudgets budgets={settings.data.budgets} />
      </Part>
      <Part
        title="Requests"
        about={`For each member and each installation. ${rate.own ? 'Your operator gave your organization a rate of its own.' : "The deployment's rate holds for your organization."}`}
      >
        <Facts
          rows={[
            ['A minute', <>{rate.perMinute.toLocaleString('en')} requests</>],
            ['At once', <>{rate.burst.toLocaleString('en')} requests</>],
          ]}
        />
      </Part>
      <Part
        title="Network of environments"
        about="What no environment may reach, and secrets that only some may use. Environments name their own hosts within that."
      >
        <EgressPolicyForm policy={settings.data.egress} />
      </Part>
      <Part title="Retention" about="Your operator decides how long things are kept.">
        <Facts
          rows={[
            ['Logs of Sessions', 'For ever, also of archived ones'],
            ['Audit log', <>{retention.auditDays.toLocaleString('en')} days</>],
          ]}
        />
      </Part>
    </div>
  )
}

/** Returns the operator's limits; the form above has the organization's own. */
function operatorRows({ costUsd, turns, seconds }: OrganizationSettings['run']['operator']) {
  const rows: readonly (readonly [string, string | null])[] = [
    ['Cost', costUsd === null ? null : dollars(costUsd)],
    ['Steps', turns === null ? null : turns.toLocaleString('en')],
    ['Time', seconds === null ? null : formatDuration(seconds * 1000)],
  ]
  return rows.flatMap(([name, most]) => (most === null ? [] : [[`${name}: your operator allows`, most] as const]))
}

export function Part({ title, about, children }: { title: string; about: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="flex flex-col gap-3">
      <div className="flex flex-col gap-1">
        <h2 className="text-sm font-semibold">{title}</h2>
        <p className="max-w-prose text-xs text-ink-3">{about}</p>
      </div>
      {children}
    </section>
  )
}

function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  if (rows.length === 0) return null
  return (
    <dl className="border-t border-line text-[0.8125rem]">
      {rows.map(([name, value]) => (
        <div key={name} className="flex items-center justify-between gap-4 border-b border-line py-2.5">
          <dt className="text-ink-2">{name}</dt>
          <dd className="text-right tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
