import { type Static, Type } from 'typebox'
import { Count, nullable, open, openString } from './scalar.ts'

/** What a report of usage can be grouped by. */
export const usageGroupings = ['day', 'model', 'person', 'repository', 'trigger', 'session'] as const

/** Bounds of a report. */
export const usageLimits = {
  /** Days of a report, both ends included. */
  days: 366,
  /** Groups that a report lists; an export has them all. */
  groups: 100,
  /** Groups whose days a report tells one by one. */
  series: 6,
} as const

/** A day of UTC. */
export const Day = Type.String({ format: 'date', description: 'A day of UTC.' })

const sums = {
  requests: Count,
  failed: Type.Integer({ minimum: 0, description: 'Requests that the provider did not complete.' }),
  inputTokens: Count,
  cachedInputTokens: Type.Integer({ minimum: 0, description: 'Part of `inputTokens`: read from a cache.' }),
  cacheWriteTokens: Type.Integer({ minimum: 0, description: 'Part of `inputTokens`: written to a cache.' }),
  outputTokens: Count,
  reasoningTokens: Type.Integer({ minimum: 0, description: 'Part of `outputTokens`.' }),
  costUsd: Type.Number({ minimum: 0, description: 'As far as it is known.' }),
  unknownCost: Type.Integer({ minimum: 0, description: 'Requests whose cost is not known and not in `costUsd`.' }),
}

const UsageSums = Type.Object(sums, { title: 'UsageSums', ...open })

const UsageGroup = Type.Object(
  {
    kind: openString(
      ['day', 'model', 'person', 'installation', 'repository', 'trigger', 'session', 'none'],
      'What the group is.',
    ),
    id: nullable(Type.String({ description: 'Id of the day, model, person or so on; null if there is none.' })),
    name: nullable(Type.String({ description: 'How people call it; null if nothing has its name any more.' })),
    ...sums,
  },
  { title: 'UsageGroup', ...open },
)

const Forecast = Type.Object(
  {
    spentUsd: Type.Number({ minimum: 0, description: 'Cost of the current month of UTC so far.' }),
    dayUsd: Type.Number({ minimum: 0, description: 'Mean cost of a day, of the last seven times 24 hours.' }),
    monthUsd: Type.Number({
      minimum: 0,
      description: 'A forecast: what the month will have cost at its end if each of its days left costs `dayUsd`.',
    }),
  },
  { title: 'UsageForecast', ...open },
)

const Numbers = (description: string) => Type.Array(Type.Number({ minimum: 0 }), { description })

/** The use of models in a time, in groups and by day. */
export const UsageReport = Type.Object(
  {
    from: Day,
    to: Day,
    by: Type.Enum(usageGroupings, { type: 'string' }),
    whose: Type.Enum(['me', 'organization'], { type: 'string' }),
    total: UsageSums,
    mergedPullRequests: Type.Integer({
      minimum: 0,
      description: 'Pull requests of Sessions that Berth merged in the time.',
    }),
    forecast: Forecast,
    groups: Type.Array(UsageGroup, {
      description: `Highest cost first, at most ${usageLimits.groups}; days in their order.`,
    }),
    left: Type.Integer({ minimum: 0, description: 'Number of groups that are not listed.' }),
    days: Type.Array(Type.Object({ day: Day, ...sums }, open), {
      description: 'Every day of the time, in order.',
    }),
    series: Type.Array(
      Type.Object(
        {
          costUsd: Numbers('One value a day.'),
          requests: Numbers('One value a day.'),
          tokens: Numbers('One value a day: input and output.'),
        },
        open,
      ),
      {
        description: `The days of the first ${usageLimits.series} groups, in the order of \`groups\`; none for days.`,
      },
    ),
  },
  { title: 'UsageReport', ...open },
)

export type UsageGrouping = (typeof usageGroupings)[number]
export type UsageSums = Static<typeof UsageSums>
export type UsageGroup = Static<typeof UsageGroup>
export type UsageReport = Static<typeof UsageReport>
