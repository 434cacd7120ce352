// Measures what of its input Berth's own agent gets from a provider's cache of prefixes, and what that saves: Turns of 20
// tool calls against a scripted model that keeps prefixes as Anthropic documents it. It counts tokens by four characters
// each, so the figures are the same on every machine. Run as: node bench/prompt-cache.ts [lines that each call prints]

import { openEngine } from '../packages/engine/test/support/engine.ts'
import { type CachedUsage, PrefixCache } from '../packages/engine/test/support/prefix-cache.ts'
import { type Behaviour, call, saysChanged } from '../packages/engine/test/support/scripted-gateway.ts'
import { printBounds } from './support/statistics.ts'

const STEPS = 20
const TURNS = 3
/** Prices of a token, as a share of one that no cache has. */
const price = { input_tokens: 1, cache_read_input_tokens: 0.1, cache_creation_input_tokens: 1.25 } as const
const lines = process.argv.slice(2).map(Number)

/** Returns the share of all input that a cache had, and the cost of all input to that of the same without a cache. */
async function measure(printed: number): Promise<{ readonly cached: number; readonly cost: number; input: number }> {
  const model = { native_wires: ['messages'], supports_reasoning: true, reasoning_control: 'adaptive' }
  await using engine = await openEngine({ model })
  const cache = new PrefixCache()
  const sum = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }
  const counted =
    (reply: Parameters<typeof saysChanged>[0]): Behaviour =>
    (request, response) => {
      const usage = cache.take(request.body)
      for (const key of Object.keys(sum) as (keyof CachedUsage)[]) sum[key] += usage[key]
      return saysChanged(reply, frame => frame)(request, response)
    }
  for (let turn = 0; turn < TURNS; turn += 1) {
    const calls = Array.from({ length: STEPS }, (_, n) => call('bash', { command: `seq ${n} ${n + printed}` }))
    engine.gateway.next(...(calls.map(counted) as [Behaviour]), counted({ text: 'done' }))
    const { stopReason, turns } = await engine.prompt('Count')
    if (stopReason !== 'completed' || turns !== STEPS + 1) throw new Error(`the Turn ended with ${stopReason}`)
  }
  const keys = Object.keys(sum) as (keyof CachedUsage)[]
  const all = keys.reduce((total, key) => total + sum[key], 0)
  const paid = keys.reduce((total, key) => total + sum[key] * price[key], 0)
  return { cached: sum.cache_read_input_tokens / all, cost: paid / all, input: all }
}

for (const printed of lines.length === 0 ? [10, 100, 400] : lines) {
  const { cached, cost, input } = await measure(printed)
  console.info(`${TURNS} Turns of ${STEPS} calls that print ${printed} lines each: ${input} tokens of input`)
  printBounds({ not_from_cache: [1 - cached, 0.15], cost_to_that_without: [cost, 0.3] })
}
