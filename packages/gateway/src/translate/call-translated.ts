import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { CallTranslated, GatewayUsage, TranslatedAnswer, TranslatedCall } from '@berth/core/accounting/upstream.ts'
import { upstreamError } from '@berth/core/accounting/upstream-status.ts'
import { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { AnswerReader } from './answer-reader.ts'
import { markCache } from './cache-marks.ts'
import type { Call } from './call.ts'
import { readChatRequest } from './chat-request.ts'
import { ChatWriter } from './chat-writer.ts'
import { toFailure } from './failure.ts'
import { readResponsesRequest } from './responses-request.ts'
import { ResponsesWriter } from './responses-writer.ts'
import type { Target } from './target.ts'
import { refusalOf } from './warnings.ts'

/**
 * Serves a request through a provider's package.
 * @throws UpstreamError before the first byte
 */
export const callTranslated: CallTranslated = async call => {
  try {
    const target = await targetOf(call)
    const read = call.wire === 'chat' ? readChatRequest(call, target) : readResponsesRequest(call, target)
    markCache(read.options, call.body, call.model)
    return call.body['stream'] === true ? await stream(call, read) : await answer(call, read)
  } catch (error) {
    throw toFailure(error, call)
  }
}

async function targetOf({ model, languageModel }: TranslatedCall): Promise<Target> {
  const native = model.kind === 'openai' || model.wire.includes('responses')
  return {
    model,
    native,
    urls: await languageModel.supportedUrls,
    optionsName: native ? 'openai' : camelCase(languageModel.provider.split('.')[0] ?? ''),
  }
}

const camelCase = (name: string) => name.replace(/[_-]([a-z])/g, letter => letter.slice(1).toUpperCase())

function readerFor(call: TranslatedCall, { oneCall }: Call, streamed: boolean) {
  const writer = call.wire === 'chat' ? new ChatWriter(call, streamed) : new ResponsesWriter(call, streamed)
  return { writer, reader: new AnswerReader(writer, { newCallId: () => call.ids('call'), oneCall }) }
}

function refused(
  call: TranslatedCall,
  { options }: Call,
  warnings: Parameters<typeof refusalOf>[0],
): UpstreamError | undefined {
  const { body, wire } = call
  const limited = (body['max_output_tokens'] ?? body['max_completion_tokens'] ?? body['max_tokens'] ?? null) !== null
  return refusalOf(warnings, wire, { options, limited })
}

async function answer(call: TranslatedCall, read: Call): Promise<TranslatedAnswer> {
  const result = await call.languageModel.doGenerate({ ...read.options, abortSignal: call.signal })
  const refusal = refused(call, read, result.warnings)
  if (refusal !== undefined) throw refusal
  const { writer, reader } = readerFor(call, read, false)
  reader.content(result.content)
  const { unified, raw } = result.finishReason
  // A body that arrived whole was not cut, even if it gives no reason for its end.
  const finishReason = { unified, raw: raw ?? 'unknown' }
  reader.part({ type: 'finish', finishReason, usage: result.usage })
  const outcome = reader.end()
  if (outcome.status === 'failed') throw outcome.error
  return { kind: 'json', body: writer.end(outcome, reader.usage), usage: reader.usage }
}

type PartReader = ReadableStreamDefaultReader<LanguageModelV4StreamPart>

async function stream(call: TranslatedCall, read: Call): Promise<TranslatedAnswer> {
  const upstream = new AbortController()
  const leave = () => upstream.abort(call.signal.reason)
  if (call.signal.aborted) leave()
  else call.signal.addEventListener('abort', leave, { once: true })
  const close = () => {
    call.signal.removeEventListener('abort', leave)
    upstream.abort()
  }
  try {
    const includeRawChunks = call.model.kind === 'google'
    const options = { ...read.options, includeRawChunks, abortSignal: upstream.signal }
    const { stream: answered, response } = await call.languageModel.doStream(options)
    const type = response?.headers?.['content-type'] ?? 'text/event-stream'
    if (!type.startsWith('text/event-stream')) throw upstreamError('upstream_invalid_response')
    const parts = answered.getReader()
    const first = await firstParts(parts, call, read)
    return translated(call, read, { parts, first, close })
  } catch (error) {
    close()
    throw error
  }
}

/**
 * Reads until the provider sends its first content, after the package's warnings. An earlier failure still becomes its
 * own status, and another provider may take the request.
 */
async function firstParts(parts: PartReader, call: TranslatedCall, read: Call): Promise<LanguageModelV4StreamPart[]> {
  const taken: LanguageModelV4StreamPart[] = []
  for (;;) {
    const { done, value } = await parts.read()
    if (done) throw upstreamError('upstream_cut')
    if (value.type === 'error') throw toFailure(value.error, { clock: call.clock })
    if (value.type === 'stream-start') {
      const refusal = refused(call, read, value.warnings)
      if (refusal !== undefined) throw refusal
      continue
    }
    taken.push(value)
    if (value.type !== 'raw' && value.type !== 'ping') return taken
  }
}

function translated(
  call: TranslatedCall,
  read: Call,
  from: {
    readonly parts: PartReader
    readonly first: readonly LanguageModelV4StreamPart[]
    readonly close: () => void
  },
): TranslatedAnswer {
  const { writer, reader } = readerFor(call, read, true)
  const usage = Promise.withResolvers<GatewayUsage | null>()
  const { parts, first } = from
  const close = () => {
    call.signal.removeEventListener('abort', close)
    from.close()
    // The rest of the stream rejects with the abort, and no caller needs that error.
    parts.cancel().catch(() => {})
    usage.resolve(reader.usage)
  }

  async function* frames(): AsyncGenerator<string> {
    try {
      writer.begin()
      for (const part of first) reader.part(part)
      yield writer.take()
      while (!reader.over) {
        const next = await parts.read().catch((error: unknown) => reader.fail(error))
        if (next === undefined || next.done) break
        reader.part(next.value)
        const made = writer.take()
        if (made !== '') yield made
      }
      // Aborting closes the stream, which looks like a cut. A client that left gets nothing more; a deadline is
      // reported.
      if (call.signal.aborted && !(call.signal.reason instanceof UpstreamError)) throw call.signal.reason
      if (call.signal.aborted) reader.fail(call.signal.reason)
      const outcome = reader.end()
      writer.end(outcome, reader.usage)
      await call.beforeEnd(reader.usage, outcome.status === 'failed')
      yield writer.take()
    } finally {
      close()
    }
  }

  call.signal.addEventListener('abort', close, { once: true })
  return { kind: 'stream', frames: closing(frames(), close), usage: usage.promise }
}

/** Closes the upstream even if the generator never started: its own `finally` does not run then. */
function closing(frames: AsyncGenerator<string>, close: () => void): AsyncIterable<string> {
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => frames.next(),
      return: () => {
        close()
        return frames.return(undefined)
      },
    }),
  }
}
