import type { ModelRequest } from '@berth/core/accounting/model-request.ts'
import type { CountedWire } from '@berth/core/accounting/upstream.ts'
import { upstreamError } from '@berth/core/accounting/upstream-status.ts'
import { passCount } from './pass-through.ts'
import { refuseState } from './request-rules.ts'
import { candidatesOf, type Gateway } from './serve-request.ts'

const patienceMs = 60_000

/**
 * Passes on a request to count the tokens of another request. Providers do not charge for it, so the gateway neither
 * accounts for it nor checks budgets. It does not fall back either: another model would count differently.
 * @throws ApiError 400 or 404, or UpstreamError with the provider's message
 */
export async function countTokens(
  gateway: Gateway,
  request: ModelRequest & { readonly wire: CountedWire },
): Promise<string> {
  refuseState(request.wire, request.body)
  const [model] = await candidatesOf(gateway, request)
  const client = gateway.clients.get(model.provider)
  if (client === undefined) throw new Error(`the provider ${model.provider} has no client`)
  const late = AbortSignal.timeout(patienceMs)
  try {
    const signal = AbortSignal.any([request.signal, late])
    return await passCount(client, { ...request, body: request.exactBody, model, clock: gateway.clock, signal })
  } catch (error) {
    throw late.aborted ? upstreamError('upstream_timeout', { cause: error }) : error
  }
}
