import { formatDuration } from '@berth/client/transcript'
import type { Run } from '@berth/contract'
import { dollars } from '../ui/format.ts'

const whole = (value: number) => value.toLocaleString('en')

/** The cost of a Run or a Session: money, the four kinds of tokens, and the time of models, people, tools and the rest. */
export function Figures({ of }: { of: Pick<Run, 'costUsd' | 'costComplete' | 'usage' | 'cacheHitRatio' | 'time'> }) {
  const { costUsd, costComplete, usage, cacheHitRatio, time } = of
  const rows: readonly (readonly [string, string])[] = [
    ...(costUsd === undefined
      ? []
      : [['Cost', `${costComplete === false ? 'at least ' : ''}${dollars(costUsd)}`] as const]),
    ...(usage === undefined
      ? []
      : ([
          ['Fresh input', whole(usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens)],
          ['From caches', whole(usage.cachedInputTokens)],
          ['Written to caches', whole(usage.cacheWriteTokens)],
          ['Output', whole(usage.outputTokens)],
        ] as const)),
    ...(cacheHitRatio === undefined ? [] : [['Cache ratio', `${Math.round(cacheHitRatio * 100)}%`] as const]),
    ...(time === undefined
      ? []
      : ([
          ['Time of models', formatDuration(time.modelMs)],
          ['of tools', formatDuration(time.toolsMs)],
          ['of people', formatDuration(time.peopleMs)],
          ['of the queue', formatDuration(time.queueMs)],
          ['of the sandbox', formatDuration(time.sandboxMs)],
          ['of the agent’s start', formatDuration(time.agentStartMs)],
          [
            'of the rest',
            formatDuration(Math.max(0, time.platformMs - time.queueMs - time.sandboxMs - time.agentStartMs)),
          ],
        ] as const)),
    ...(time?.sealMs === undefined ? [] : [['of the seal, after the end', formatDuration(time.sealMs)] as const]),
  ]
  return (
    <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1 text-xs">
      {rows.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-ink-3">{name}</dt>
          <dd className="text-right text-ink tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
