import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { TranslatedCall } from '@berth/core/accounting/upstream.ts'
import { isObject, type Json } from '@berth/platform/kit/json.ts'
import { refuse } from './refuse.ts'

/** Marks content that this deployment sealed. It tells altered content of ours from a provider's own. */
const mark = 'berth.1.'
const contextOf = ({ organizationId }: Pick<Sealing, 'organizationId'>) => `gateway/reasoning/${organizationId}`

/**
 * Provider data that must come back unchanged when a client replays an answer. Thinking comes back with its text; a
 * signature may also belong to a call or to the preceding text.
 */
export type Kept =
  | { readonly on: 'reasoning'; readonly text: string; readonly metadata?: SharedV4ProviderMetadata }
  | { readonly on: 'call'; readonly callId: string; readonly metadata: SharedV4ProviderMetadata }
  | { readonly on: 'text'; readonly metadata: SharedV4ProviderMetadata }

export type Sealing = Pick<TranslatedCall, 'model' | 'organizationId' | 'seal' | 'open'>

/** Returns whether this deployment made a reasoning item's `encrypted_content`. No provider can read such content. */
export function isSealedReasoning(content: unknown): boolean {
  return typeof content === 'string' && content.startsWith(mark)
}

/**
 * Seals data as opaque, authenticated `encrypted_content`. Only the same organization, provider and model can use it.
 */
export function sealReasoning(kept: Kept, sealing: Sealing): string {
  const { model } = sealing
  return mark + sealing.seal(JSON.stringify({ provider: model.provider, model: model.model, kept }), contextOf(sealing))
}

/**
 * Opens content that `sealReasoning` made. Returns undefined for content of another provider or model, and for a
 * provider's own content; the caller leaves both out.
 * @throws UpstreamError 400 for content that carries the mark but does not open
 */
export function openReasoning(content: unknown, param: string, sealing: Sealing): Kept | undefined {
  if (typeof content !== 'string' || !isSealedReasoning(content)) return undefined
  const { model } = sealing
  const read = readSealed(content, param, sealing)
  return read['provider'] === model.provider && read['model'] === model.model ? (read['kept'] as Kept) : undefined
}

function readSealed(content: string, param: string, sealing: Sealing): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = JSON.parse(sealing.open(content.slice(mark.length), contextOf(sealing)))
    if (isObject(read)) return read
  } catch (cause) {
    throw refuse(param, `${param} was altered, or comes from another deployment or organization.`, cause)
  }
  throw refuse(param, `${param} was not made by this gateway.`)
}

/** Returns the thought signature in a part's metadata, which Gemini puts on calls and text. Drops other metadata. */
export function signatureOf(metadata: SharedV4ProviderMetadata | undefined): SharedV4ProviderMetadata | undefined {
  for (const [name, fields] of Object.entries(metadata ?? {})) {
    const thoughtSignature = fields?.['thoughtSignature']
    if (typeof thoughtSignature === 'string') return { [name]: { thoughtSignature } }
  }
  return undefined
}

/** Returns the input items without those sealed here, which a provider that speaks Responses cannot read. */
export function withoutSealed(input: unknown): unknown {
  if (!Array.isArray(input)) return input
  return input.filter(
    item => !(isObject(item) && item['type'] === 'reasoning' && isSealedReasoning(item['encrypted_content'])),
  )
}

/** Returns the messages without signatures sealed here, which the provider cannot read. */
export function withoutSealedSignatures(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages
  return messages.map(message => {
    const bare = withoutSignature(message)
    if (!isObject(bare) || !Array.isArray(bare['tool_calls'])) return bare
    return { ...bare, tool_calls: bare['tool_calls'].map(withoutSignature) }
  })
}

function withoutSignature(object: unknown): unknown {
  if (!isObject(object) || !isSealedReasoning(signatureIn(object))) return object
  const { extra_content: _, ...bare } = object
  return bare
}

/** Reads the signature of a call, or of a message, from the field that clients of Gemini's Chat Completions use. */
export function signatureIn(object: Json): unknown {
  const extra = object['extra_content']
  const google = isObject(extra) ? extra['google'] : undefined
  return isObject(google) ? google['thought_signature'] : undefined
}
