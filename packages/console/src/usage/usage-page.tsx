import type { UsageReport } from '@berth/contract'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouteContext } from '@tanstack/react-router'
import { ChartColumn, Download } from 'lucide-react'
import { lazy, Suspense, useMemo } from 'react'
import { serverNow } from '../api/server-clock.ts'
import { SectionPage } from '../organization/section-page.tsx'
import { Button } from '../ui/button.tsx'
import { counted, dollars } from '../ui/format.ts'
import { Stat, Stats } from '../ui/stat.tsx'
import { EmptyState, ErrorState, InlineProblem, LoadingLines } from '../ui/states.tsx'
import type { Measure } from './choices.ts'
import { daysOfSearch, faultOfDays } from './days.ts'
import { groupingLabels, groupName } from './group-labels.ts'
import { glance, layersOf, meanings } from './measures.ts'
import { saveCsv, usageQuery } from './queries.ts'
import { Swatch } from './swatch.tsx'
import { UsageControls } from './usage-controls.tsx'
import { UsageTable } from './usage-table.tsx'

const route = getRouteApi('/shell/organization/usage')
const Plot = lazy(async () => ({ default: (await import('./usage-plot.tsx')).UsagePlot }))

/** The models' usage by the organization, or by the person alone. */
export function UsagePage() {
  const search = route.useSearch()
  const { viewer } = useRouteContext({ from: '/shell' })
  const administers = viewer.membership.role === 'admin'
  const { by = 'day', measure = 'cost' } = search
  const days = daysOfSearch(search, serverNow())
  const fault = faultOfDays(days)
  const filter = { ...days, by, whose: administers ? (search.whose ?? 'organization') : 'me' } as const
  const report = useQuery({ ...usageQuery(filter), enabled: fault === null })
  const save = useMutation({ mutationFn: () => saveCsv(filter) })
  return (
    <SectionPage
      title="Usage"
      needs="membership"
      reading
      actions={
        <Button
          busy={save.isPending}
          verdict={fault === null ? { allowed: true } : { allowed: false, reason: fault }}
          onClick={() => save.mutate()}
        >
          <Download className="size-4" aria-hidden /> CSV
        </Button>
      }
      below={<UsageControls search={search} days={days} administers={administers} fault={fault} />}
    >
      <InlineProblem error={save.error} />
      {report.data !== undefined ? (
        <div aria-busy={report.isPlaceholderData} className={report.isPlaceholderData ? 'opacity-60' : ''}>
          <Report report={report.data} measure={measure} />
        </div>
      ) : report.error !== null ? (
        <ErrorState error={report.error} retry={() => void report.refetch()} />
      ) : fault !== null ? (
        <p role="alert" className="py-16 text-center text-ink-2">
          {fault}
        </p>
      ) : (
        <LoadingLines lines={8} label="the usage" />
      )}
    </SectionPage>
  )
}

function Report({ report, measure }: { report: UsageReport; measure: Measure }) {
  const { by, days, groups, total, whose } = report
  const layers = useMemo(
    () =>
      layersOf(report, measure, at => {
        const group = groups[at]
        return group === undefined ? '' : groupName(group, by)
      }),
    [report, measure, groups, by],
  )
  const dates = useMemo(() => days.map(({ day }) => day), [days])
  if (total.requests === 0) {
    return (
      <EmptyState icon={ChartColumn} title="No requests in these days">
        {whose === 'me'
          ? 'Usage counts as soon as one of your Sessions, or a tool of yours, asks a model.'
          : 'Usage counts as soon as a Session, or a tool with a key, asks a model.'}
      </EmptyState>
    )
  }
  const { label, of, format } = meanings[measure]
  return (
    <div className="flex flex-col gap-6">
      <Totals report={report} />
      <section aria-labelledby="plot" className="rounded-xl border border-line p-4">
        <h2 id="plot" className="mb-2 text-[0.8125rem] font-medium">
          {label} by day{by === 'day' ? '' : `, by ${groupingLabels[by].toLowerCase()}`}
          <span className="ml-2 font-normal text-ink-3">Days of UTC</span>
        </h2>
        <Suspense fallback={<div className="h-60" />}>
          <Plot
            days={dates}
            layers={layers}
            measure={measure}
            label={`${label} by day, ${format(of(total))} in all. The table below has the numbers.`}
          />
          {by !== 'day' && (
            <ul className="mt-3 flex flex-wrap gap-x-4 gap-y-1.5">
              {layers.map((layer, at) => (
                <li key={`${at} ${layer.label}`} className="flex max-w-60 items-center gap-1.5 text-xs text-ink-2">
                  <Swatch at={at} others={layer.label === 'Others'} />
                  <span className="truncate">{layer.label}</span>
                </li>
              ))}
            </ul>
          )}
        </Suspense>
      </section>
      <UsageTable report={report} measure={measure} />
    </div>
  )
}

function Totals({ report: { total, mergedPullRequests: merged, forecast, whose } }: { report: UsageReport }) {
  const { costUsd, unknownCost, requests, failed, inputTokens, cachedInputTokens, cacheWriteTokens } = total
  const { outputTokens, reasoningTokens } = total
  const share = (part: number, whole: number) => (whole === 0 ? 0 : Math.round((100 * part) / whole))
  return (
    <Stats>
      <Stat
        name="Cost"
        value={dollars(costUsd)}
        about={
          unknownCost > 0 ? `${unknownCost.toLocaleString('en')} requests have no known price` : 'All requests priced'
        }
      />
      <Stat name="Requests" value={glance(requests)} about={`${failed.toLocaleString('en')} failed`} />
      <Stat
        name="Input tokens"
        value={glance(inputTokens)}
        about={`${share(cachedInputTokens, inputTokens)}% from caches, ${share(cacheWriteTokens, inputTokens)}% written to them`}
      />
      <Stat
        name="Output tokens"
        value={glance(outputTokens)}
        about={`${share(reasoningTokens, outputTokens)}% for reasoning`}
      />
      <Stat
        name="This month"
        value={dollars(forecast.monthUsd)}
        about={`A forecast: ${dollars(forecast.spentUsd)} so far, and ${dollars(forecast.dayUsd)} a day, the mean of the last seven`}
      />
      {whose === 'organization' && (
        <Stat
          name="A merged pull request"
          value={merged === 0 ? '–' : dollars(costUsd / merged)}
          about={merged === 0 ? 'Berth merged none in these days' : `All cost by ${counted(merged, 'merge')} of Berth`}
        />
      )}
    </Stats>
  )
}
