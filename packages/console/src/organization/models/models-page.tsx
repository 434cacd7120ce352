import type { OrganizationSettings, PricedModelList } from '@berth/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useRouteContext } from '@tanstack/react-router'
import { Cpu } from 'lucide-react'
import { serverNow } from '../../api/server-clock.ts'
import { Badge } from '../../environments/badge.tsx'
import { to } from '../../routing/to.ts'
import { dollars } from '../../ui/format.ts'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { daysOfRange } from '../../usage/days.ts'
import { glance } from '../../usage/measures.ts'
import { usageQuery } from '../../usage/queries.ts'
import { spendingBounds } from '../limits/bounds.ts'
import { BoundsForm } from '../limits/bounds-form.tsx'
import { BudgetBars } from '../limits/budget-bars.tsx'
import { Part } from '../limits/limits-page.tsx'
import { modelsQuery, settingsQuery } from '../limits/queries.ts'
import { SectionPage } from '../section-page.tsx'
import { ModelSetup } from './model-setup.tsx'

/** The models with their prices, and for administrators the organization's budget for them. */
export function ModelsPage() {
  const { viewer } = useRouteContext({ from: '/shell' })
  return (
    <SectionPage title="Models" needs="membership" reading>
      <div className="flex flex-col gap-8">
        {viewer.membership.role === 'admin' && <Budgets />}
        <Models />
        {viewer.membership.role === 'admin' && <Setup />}
      </div>
    </SectionPage>
  )
}

function Budgets() {
  const settings = useQuery(settingsQuery)
  if (settings.isPending) return <LoadingLines lines={4} label="the budgets" />
  if (settings.data === undefined) return <InlineProblem error={settings.error} />
  const { budgets }: OrganizationSettings = settings.data
  return (
    <Part
      title="Budgets"
      about="While a budget is spent, Runs wait for people or are refused, and every other request is refused until it resets. Yours hold beside those of your operator. Those of people and installations are among the limits."
    >
      <BudgetBars budgets={budgets.filter(({ scope }) => scope === 'organization')}>
        No budget is set: models answer at any cost.
      </BudgetBars>
      <BoundsForm label="Budgets of the organization" bounds={spendingBounds} settings={settings.data} />
    </Part>
  )
}

/** Opens the way to add a provider while there is none. */
function Setup() {
  const models = useQuery(modelsQuery).data
  if (models === undefined) return null
  return <ModelSetup empty={models.models.length + models.openProviders.length === 0} />
}

type Priced = PricedModelList['models'][number]

function Models() {
  const models = useQuery(modelsQuery)
  const { viewer } = useRouteContext({ from: '/shell' })
  const whose = viewer.membership.role === 'admin' ? 'organization' : 'me'
  const usage = useQuery(usageQuery({ ...daysOfRange('30d', serverNow()), by: 'model', whose }))
  if (models.isPending) return <LoadingLines lines={6} label="the models" />
  if (models.data === undefined) return <ErrorState error={models.error} retry={() => void models.refetch()} />
  const { models: listed, openProviders, restricted } = models.data
  const spent = new Map(usage.data?.groups.map(({ id, costUsd }) => [id, costUsd]))
  const about = [
    'US dollars for a million tokens.',
    ...(restricted ? ['Your operator lets your organization use some of them alone.'] : []),
    ...(openProviders.length > 0 ? [`The gateway also offers what ${openProviders.join(', ')} lists.`] : []),
  ].join(' ')
  return (
    <Part title="Prices" about={about}>
      {listed.length === 0 ? (
        <EmptyState icon={Cpu} title={openProviders.length > 0 ? 'No model is described' : 'No model is configured'}>
          {openProviders.length > 0
            ? 'The providers list their own models. Prices come with a description in the configuration file.'
            : whose === 'organization'
              ? 'Agents that think need one. How to add it stands below.'
              : 'Agents that think need one. Ask an administrator to add it.'}
        </EmptyState>
      ) : (
        <Table label="Models" columns={columnsOf(spent)} rows={listed} keyOf={({ id }) => id} />
      )}
      {usage.data !== undefined && listed.length > 0 && (
        <p className="text-xs text-ink-3">
          Spent: by {whose === 'me' ? 'you' : 'everybody'} in the last 30 days.{' '}
          <Link {...to.usage({ by: 'model' })} className="text-accent hover:underline">
            More about usage
          </Link>
        </p>
      )}
    </Part>
  )
}

const price = (value: number | undefined) => (
  <span className="tabular-nums">{value === undefined ? '–' : `$${value.toLocaleString('en')}`}</span>
)

function columnsOf(spent: ReadonlyMap<string | null, number>): readonly Column<Priced>[] {
  const right = 'text-right!'
  return [
    {
      id: 'model',
      header: 'Model',
      cell: ({ id, aliases, isDefault, allowed }) => (
        <span className="flex flex-col gap-0.5">
          <span className="flex flex-wrap items-center gap-2">
            <span className={`truncate font-mono text-xs ${allowed ? '' : 'text-ink-3 line-through'}`}>{id}</span>
            {isDefault && <Badge tone="accent">Default</Badge>}
            {!allowed && <Badge tone="quiet">Not for your organization</Badge>}
          </span>
          {aliases.length > 0 && <span className="truncate text-xs text-ink-3">also {aliases.join(', ')}</span>}
        </span>
      ),
    },
    {
      id: 'context',
      header: 'Context',
      className: `${right} max-md:hidden`,
      cell: ({ contextTokens }) => (contextTokens === null ? '–' : glance(contextTokens)),
    },
    { id: 'input', header: 'Input', className: right, cell: model => price(model.price?.input) },
    {
      id: 'cached',
      header: 'Cached',
      className: `${right} max-sm:hidden`,
      cell: model => price(model.price?.cachedInput),
    },
    { id: 'output', header: 'Output', className: right, cell: model => price(model.price?.output) },
    {
      id: 'spent',
      header: 'Spent',
      className: `${right} max-sm:hidden`,
      cell: ({ id }) => <span className="font-medium tabular-nums">{dollars(spent.get(id) ?? 0)}</span>,
    },
  ]
}
