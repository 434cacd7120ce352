import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ResolvedModel, TranslatedCall } from '@berth/core/accounting/upstream.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'

/** Stands in for a provider's package and streams a script; an error ends the stream as a broken connection does. */
export function scriptedLanguageModel(
  parts: readonly (LanguageModelV4StreamPart | Error)[],
  kind: ResolvedModel['kind'] = 'anthropic',
): LanguageModelV4 & { readonly calls: LanguageModelV4CallOptions[] } {
  const calls: LanguageModelV4CallOptions[] = []
  return {
    specificationVersion: 'v4',
    provider: `${kind}.scripted`,
    modelId: 'scripted',
    supportedUrls: { 'image/*': [/^https:/], 'application/pdf': [/^https:/] },
    calls,
    async doGenerate(options) {
      calls.push(options)
      return {
        content: [{ type: 'text', text: 'done' }],
        finishReason: { unified: 'stop', raw: 'stop' },
        usage: usage(10, 5),
        warnings: [],
      }
    },
    async doStream(options) {
      calls.push(options)
      const left = [...parts]
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          pull(controller) {
            const next = left.shift()
            if (next === undefined) controller.close()
            else if (next instanceof Error) controller.error(next)
            else controller.enqueue(next)
          },
        }),
      }
    },
  }
}

export function usage(input: number, output: number) {
  return {
    inputTokens: { total: input, noCache: input - 2, cacheRead: 2, cacheWrite: 0 },
    outputTokens: { total: output, text: output - 1, reasoning: 1 },
  }
}

const key = new MasterKey(Buffer.alloc(32, 7))

/** The parts of a translated call besides the request. */
export function translatedCall(
  call: Pick<TranslatedCall, 'wire' | 'body' | 'languageModel'> & {
    readonly model?: Partial<ResolvedModel>
    readonly signal?: AbortSignal
    readonly organizationId?: string
    readonly beforeEnd?: TranslatedCall['beforeEnd']
  },
): TranslatedCall {
  let made = 0
  return {
    signal: new AbortController().signal,
    organizationId: 'ours',
    ids: prefix => `${prefix}_${++made}`,
    clock: { now: () => new Date(1_800_000_000_000) },
    seal: (text, context) => key.seal(text, context).toString('base64url'),
    open: (sealed, context) => key.open(Buffer.from(sealed, 'base64url'), context).toString(),
    beforeEnd: async () => {},
    ...call,
    model: { ...scriptedModel, ...call.model },
  }
}

export const scriptedModel: ResolvedModel = {
  id: 'anthropic/scripted',
  catalogId: 'anthropic/scripted',
  provider: 'anthropic',
  kind: 'anthropic',
  model: 'scripted',
  wire: [],
  contextTokens: 200_000,
  outputTokens: 8192,
  tools: true,
  reasoning: true,
  modalities: ['text', 'image', 'file'],
  price: undefined,
}
