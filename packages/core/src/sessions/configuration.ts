import type { Effort } from '@berth/contract'
import { invalidField } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import { NATIVE_RUNTIME } from '../runtimes/catalog.ts'
import { installedRuntimes } from '../runtimes/runtime-hosts.ts'

/**
 * Returns the runtime a Session settles on; null is the native one, however the caller spelt it.
 * @throws ApiError 400 `invalid_request`, path `runtime`, which names the available runtimes or says why one is missing
 * @throws ApiError 503 `cloud_agent_catalog_unavailable` if only a worker can tell of the runtime and there is none
 */
export async function settleRuntime(
  context: Context,
  db: Queryable,
  organizationId: string,
  wanted: string | null | undefined,
): Promise<string | null> {
  if (wanted === null || wanted === undefined || wanted === NATIVE_RUNTIME) return null
  const { runtimes, clock } = context
  const entry = runtimes.find(wanted)
  if (entry === null) {
    throw invalidField(['runtime'], `is not one of the runtimes here: ${runtimes.ids.join(', ')}`)
  }
  if (entry.missing !== undefined && !(await installedRuntimes(db, clock, organizationId)).has(wanted)) {
    throw invalidField(['runtime'], `cannot run here: ${entry.missing() ?? 'no worker has it yet'}`)
  }
  return wanted
}

/**
 * Returns the model a Session shows for its next Turn: the requested one, else the default of the native runtime, else
 * none.
 * @throws ApiError 400 `invalid_request`, path `model`, if the catalog lacks the model or the runtime cannot ask for it
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
    throw invalidField(['model'], `cannot be used by '${runtime}': its provider must speak '${format}' (\`wire\`)`)
  }
  return wanted
}

/**
 * Returns the effort that a Session's model is asked for; null for its default.
 * @throws ApiError 400 `invalid_request`, path `effort`, if the model does not reason
 */
export function settleEffort(
  { models }: Pick<Context, 'models'>,
  wanted: Effort | null | undefined,
  model: string | null,
): Effort | null {
  if (wanted === null || wanted === undefined || model === null || models.reasons(model)) return wanted ?? null
  throw invalidField(
    ['effort'],
    `cannot be chosen for ${model}, which does not reason; leave it out, or set it to null`,
  )
}
