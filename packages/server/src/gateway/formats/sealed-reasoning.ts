import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { isObject, type Json } from '../../kit/json.ts'
import type { TranslatedCall } from '../providers/upstream.ts'
import { refuse } from './refuse.ts'

/** Marks opaque content as ours, so that a provider's own is told apart from ours that was altered. */
const mark = 'berth.1.'
const contextOf = ({ organizationId }: Pick<Sealing, 'organizationId'>) => `gateway/reasoning/${organizationId}`

/**
 * What a provider wants back unchanged when its words are replayed. A thinking block is wanted with its text; a
 * signature may as well be wanted with a call or with the text before it.
 */
export type Kept =
  | { readonly on: 'reasoning'; readonly text: string; readonly metadata?: SharedV4ProviderMetadata }
  | { readonly on: 'call'; readonly callId: string; readonly metadata: SharedV4ProviderMetadata }
  | { readonly on: 'text'; readonly metadata: SharedV4ProviderMetadata }

export type Sealing = Pick<TranslatedCall, 'model' | 'organizationId' | 'seal' | 'open'>

/** Whether a reasoning item's `encrypted_content` was made here: no provider can make anything of it. */
export function isSealedReasoning(content: unknown): boolean {
  return typeof content === 'string' && content.startsWith(mark)
}

/** Makes `encrypted_content`: opaque, authenticated, of use to its organization with the same provider and model only. */
export function sealReasoning(kept: Kept, sealing: Sealing): string {
  const { model } = sealing
  return mark + sealing.seal(JSON.stringify({ provider: model.provider, model: model.model, kept }), contextOf(sealing))
}

/**
 * Reads what `sealReasoning` made. Undefined for what another provider or model said, or a provider by itself: it has
 * no meaning here and is left out. @throws UpstreamError 400 for what claims to be ours and is not
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
  throw refuse(param, `${param} is not what this gateway makes.`)
}

/** The thought signature among a part's metadata, which Gemini puts on calls and text; other metadata is not kept. */
export function signatureOf(metadata: SharedV4ProviderMetadata | undefined): SharedV4ProviderMetadata | undefined {
  for (const [name, fields] of Object.entries(metadata ?? {})) {
    const thoughtSignature = fields?.['thoughtSignature']
    if (typeof thoughtSignature === 'string') return { [name]: { thoughtSignature } }
  }
  return undefined
}

/** What sealed content begins with, for who looks for it in bytes. */
export const sealedMark = Buffer.from(mark)

/** Input items without what was sealed here: a provider that is asked directly can make nothing of it. */
export function withoutSealed(input: unknown): unknown {
  if (!Array.isArray(input)) return input
  return input.filter(
    item => !(isObject(item) && item['type'] === 'reasoning' && isSealedReasoning(item['encrypted_content'])),
  )
}

/** Messages without the signatures that were sealed here, for the same reason. */
export function withoutSealedSignatures(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages
  return messages.map(message => {
    if (!isObject(message) || !Array.isArray(message['tool_calls'])) return message
    return { ...message, tool_calls: message['tool_calls'].map(withoutSignature) }
  })
}

function withoutSignature(call: unknown): unknown {
  if (!isObject(call) || !isSealedReasoning(signatureIn(call))) return call
  const { extra_content: _, ...bare } = call
  return bare
}

/** Where clients of Gemini's own Chat Completions keep the signature of a call. */
export function signatureIn(call: Json): unknown {
  const extra = call['extra_content']
  const google = isObject(extra) ? extra['google'] : undefined
  return isObject(google) ? google['thought_signature'] : undefined
}
