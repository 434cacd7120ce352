import type { AdminIo } from '../io.ts'
import { withServer } from '../server-module.ts'

/** A row of the server package's report. */
interface UsageRow {
  readonly group: string
  readonly requests: number
  readonly failed: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly reasoningTokens: number
  readonly costUsd: number
  readonly unknownCost: number
}

interface AdminModule {
  readUsage(env: NodeJS.ProcessEnv, query: { by: string; since: Date }): Promise<readonly UsageRow[]>
}

export interface UsageOptions {
  readonly by: string
  readonly days: number
  readonly json?: boolean
}

const columns = [
  'requests',
  'failed',
  'input',
  'cached',
  'written',
  'output',
  'reasoning',
  'USD',
  'cost unknown',
] as const

/** Prints the use of models, the highest cost first. It reads the database, so the service need not run. */
export async function usage(options: UsageOptions, { env, print }: AdminIo): Promise<void> {
  const since = new Date(Date.now() - options.days * 86_400_000)
  const query = { by: options.by, since }
  const rows = await withServer('@berth/server/admin', ({ readUsage }: AdminModule) => readUsage(env, query))
  if (options.json === true) {
    for (const row of rows) print(JSON.stringify(row))
    return
  }
  const table = [[options.by, ...columns], ...rows.map(cells)]
  const widths = [options.by, ...columns].map((_, at) => Math.max(...table.map(row => row[at]?.length ?? 0)))
  for (const row of table) {
    print(row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  '))
  }
}

function cells(row: UsageRow): string[] {
  const { requests, failed, inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = row
  const counts = [requests, failed, inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens]
  return [row.group, ...counts.map(String), row.costUsd.toFixed(4), String(row.unknownCost)]
}
