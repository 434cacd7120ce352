import { invalidField } from '../api-errors.ts'
import type { Context } from '../context.ts'
import { NATIVE_RUNTIME } from '../runtimes/catalog.ts'

/**
 * The runtime a Session settles on; null is the native one, however it was spelt (completions, Session).
 * @throws ApiError 400 `invalid_request`, path `runtime`, naming the runtimes there are
 */
export function settleRuntime(context: Context, wanted: string | null | undefined): string | null {
  if (wanted === null || wanted === undefined || wanted === NATIVE_RUNTIME) return null
  if (context.runtimes.find(wanted) === null) {
    throw invalidField(['runtime'], `is none of the runtimes here: ${context.runtimes.ids.join(', ')}`)
  }
  return wanted
}

/**
 * The model a Session shows for its next Turn: the one asked for, else the default for the native runtime, else none.
 * @throws ApiError 400 `invalid_request`, path `model`, for a model that is not in the catalog
 */
export function settleModel(
  context: Context,
  wanted: string | null | undefined,
  runtime: string | null,
): string | null {
  if (wanted === null || wanted === undefined) return runtime === null ? context.defaultModel : null
  if (!context.models.has(wanted)) throw invalidField(['model'], 'is not a model of this deployment')
  return wanted
}
