import type { ModelCheck } from '@berth/contract'
import { upstreamCode, upstreamError } from '@berth/core/accounting/upstream-status.ts'
import { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { ProviderClient } from './provider-client.ts'
import { parseModelList } from './provider-list.ts'
import { detailOfError } from './upstream-reason.ts'

/** Somebody waits for the answer. */
const PATIENCE_MS = 10_000
const MAX_BYTES = 16 * 1024 ** 2
/** A check has one question, and asks it once. */
const limits = {
  connectMs: PATIENCE_MS,
  firstByteMs: PATIENCE_MS,
  idleMs: PATIENCE_MS,
  totalMs: PATIENCE_MS,
  connections: 1,
}

type CheckedProvider = ModelCheck['providers'][number]
type Provider = ConstructorParameters<typeof ProviderClient>[0]

/**
 * Asks a provider for its list of models, which proves address and key and costs nothing. One that has no list is asked
 * for one token of a model.
 * @param model one that the configuration describes; undefined if it describes none
 */
export async function checkProvider(provider: Provider, model: string | undefined): Promise<CheckedProvider> {
  const client = new ProviderClient(provider, limits)
  const { id } = provider
  const signal = AbortSignal.timeout(PATIENCE_MS)
  try {
    const answer = await client.send({ method: 'GET', path: '/models', signal })
    const body = (await answer.readAll(MAX_BYTES))?.toString('utf8') ?? ''
    if (answer.status === 200) return { id, outcome: 'answered', models: parseModelList(body).length }
    if (![404, 405, 501].includes(answer.status)) {
      throw upstreamError(upstreamCode(answer.status, body), { reason: detailOfError(body).reason })
    }
    if (model === undefined) return { id, outcome: 'unlisted', models: null }
    await (await client.languageModel(model)).doGenerate({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Say ok.' }] }],
      maxOutputTokens: 16,
      abortSignal: signal,
    })
    return { id, outcome: 'answered', models: null }
  } catch (error) {
    const { outcome, detail } = failureOf(error, signal)
    return { id, outcome, models: null, ...(detail !== undefined && { detail }) }
  } finally {
    await client.close()
  }
}

function failureOf(error: unknown, { aborted }: AbortSignal): { outcome: string; detail?: string } {
  if (aborted) return { outcome: 'upstream_timeout' }
  if (error instanceof UpstreamError) return { outcome: error.code, detail: error.message }
  // The library's error of a call has the provider's status and body.
  const { statusCode, responseBody } = Object(error) as { statusCode?: unknown; responseBody?: unknown }
  if (typeof statusCode !== 'number') return { outcome: 'upstream_invalid_response' }
  const body = typeof responseBody === 'string' ? responseBody : ''
  const { code, message } = upstreamError(upstreamCode(statusCode, body), { reason: detailOfError(body).reason })
  return { outcome: code, detail: message }
}
