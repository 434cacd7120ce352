import type { Context } from '../context.ts'
import { invalidField } from '../kit/refusal.ts'
import { NATIVE_RUNTIME } from '../runtimes/catalog.ts'
import { installedRuntimes } from '../runtimes/runtime-hosts.ts'
import type { Queryable } from '../storage/postgres/database.ts'

/**
 * The runtime a Session settles on; null is the native one, however it was spelt (completions, Session).
 * @throws ApiError 400 `invalid_request`, path `runtime`, naming the runtimes there are, or saying what one lacks; 503
 *   `cloud_agent_catalog_unavailable` for one that only a worker could tell of, while there is none
 */
export async function settleRuntime(
  context: Context,
  db: Queryable,
  wanted: string | null | undefined,
): Promise<string | null> {
  if (wanted === null || wanted === undefined || wanted === NATIVE_RUNTIME) return null
  const { runtimes, clock } = context
  const entry = runtimes.find(wanted)
  if (entry === null) {
    throw invalidField(['runtime'], `is none of the runtimes here: ${runtimes.ids.join(', ')}`)
  }
  if (entry.missing !== undefined && !(await installedRuntimes(db, clock)).has(wanted)) {
    throw invalidField(['runtime'], `cannot be run here: ${entry.missing() ?? 'no worker has it yet'}`)
  }
  return wanted
}

/**
 * The model a Session shows for its next Turn: the one asked for, else the default for the native runtime, else none.
 * @throws ApiError 400 `invalid_request`, path `model`, for a model that is not in the catalog, or that the runtime cannot
 *   ask for
 */
export function settleModel(
  context: Context,
  wanted: string | null | undefined,
  runtime: string | null,
): string | null {
  if (wanted === null || wanted === undefined) return runtime === null ? context.defaultModel : null
  const { models, runtimes } = context
  if (!models.has(wanted)) throw invalidField(['model'], 'is not a model of this deployment')
  const format = runtime === null ? undefined : runtimes.find(runtime)?.speaks
  if (format !== undefined && !models.speaks(wanted, format)) {
    throw invalidField(['model'], `is none that '${runtime}' can use: its provider must speak '${format}' (\`wire\`)`)
  }
  return wanted
}
