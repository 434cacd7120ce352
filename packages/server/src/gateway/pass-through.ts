import { ChatTap } from './chat-tap.ts'
import { FrameReader, FrameTooLarge } from './frame-splitter.ts'
import { spliceMembers } from './json-splice.ts'
import { connectionError, type ProviderClient } from './provider-client.ts'
import { outputText, ResponsesTap } from './responses-tap.ts'
import { isObject, parseObject, readUsage, type StreamTap } from './stream-tap.ts'
import { sealedMark, withoutSealed, withoutSealedSignatures } from './translate/sealed-reasoning.ts'
import { type GatewayUsage, type ResolvedModel, UpstreamError, type Wire } from './upstream.ts'
import type { UpstreamAnswer } from './upstream-answer.ts'
import { upstreamCode, upstreamError } from './upstream-status.ts'
import { wordsOfError } from './upstream-words.ts'

/** A request for a provider that speaks its format. */
export interface PassedRequest {
  readonly wire: Wire
  readonly body: Readonly<Record<string, unknown>>
  /** The body as it came. */
  readonly bytes: Buffer
  readonly model: ResolvedModel
  /** Aborted when the client has left or time is over; the reason is then an UpstreamError. */
  readonly signal: AbortSignal
  /** What must be done before the client gets the last of a stream. */
  readonly beforeEnd: (tap: StreamTap) => Promise<void>
}

/** What a provider answered, its first frame in hand. */
export type PassedAnswer =
  | { readonly kind: 'whole'; readonly body: Buffer; readonly usage: GatewayUsage | null }
  | { readonly kind: 'stream'; readonly tap: StreamTap; readonly pieces: AsyncIterable<Buffer | string> }

const maxFrameBytes = 16 * 1024 ** 2
const maxAnswerBytes = 64 * 1024 ** 2
const maxErrorBytes = 64 * 1024
const readOutMs = 1000
const paths: Readonly<Record<Wire, string>> = { chat: '/chat/completions', responses: '/responses' }

/**
 * Passes a request to a provider byte for byte, but for the model's name and, in a stream of Chat Completions, the wish
 * for the usage, without which nothing could be accounted. Reasoning that a translated model said is left out.
 * @throws UpstreamError while nothing has been answered
 */
export async function passThrough(client: ProviderClient, request: PassedRequest): Promise<PassedAnswer> {
  const { wire, body, bytes, model, signal } = request
  const streams = body['stream'] === true
  const answer = await client.send({
    method: 'POST',
    path: paths[wire],
    body: spliceMembers(bytes, {
      model: JSON.stringify(model.model),
      ...(bytes.includes(sealedMark) &&
        (wire === 'responses'
          ? { input: JSON.stringify(withoutSealed(body['input'])) }
          : { messages: JSON.stringify(withoutSealedSignatures(body['messages'])) })),
      ...(wire === 'chat' && streams && { stream_options: JSON.stringify(withUsage(body['stream_options'])) }),
    }),
    signal,
  })
  try {
    if (answer.status !== 200) throw await refusalOf(answer)
    if (!streams) {
      const read = await answer.readAll(maxAnswerBytes)
      if (read === null) throw upstreamError('upstream_invalid_response')
      return whole(read, wire, model.id)
    }
    if (!String(answer.headers['content-type']).startsWith('text/event-stream')) {
      throw upstreamError('upstream_invalid_response')
    }
    return await stream(answer, request)
  } catch (error) {
    answer.close()
    throw connectionError(error, signal, 'upstream_cut')
  }
}

const withUsage = (options: unknown) => ({ ...(isObject(options) ? options : {}), include_usage: true })

const keepsUsage = (options: unknown) => isObject(options) && options['include_usage'] === true

/** A provider's refusal. Only what is said of the request itself is passed on. */
async function refusalOf(answer: UpstreamAnswer): Promise<UpstreamError> {
  const code = upstreamCode(answer.status)
  const text = await answer.readAll(maxErrorBytes).then(
    bytes => String(bytes ?? ''),
    () => '',
  )
  const { words, param } = wordsOfError(text)
  const retryAfterSeconds = readRetryAfter(answer.headers)
  return upstreamError(code, {
    ...(code !== 'upstream_credential_refused' && { words, param }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** `Retry-After` in seconds or as a date, or OpenAI's `retry-after-ms`. */
function readRetryAfter(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (milliseconds >= 0) return Math.ceil(milliseconds / 1000)
  const sent = headers['retry-after']
  if (typeof sent !== 'string' || sent === '') return undefined
  const seconds = Number.isNaN(Number(sent)) ? (Date.parse(sent) - Date.now()) / 1000 : Number(sent)
  return Number.isFinite(seconds) ? Math.max(0, Math.ceil(seconds)) : undefined
}

function whole(bytes: Buffer, wire: Wire, id: string): PassedAnswer {
  const parsed = parseObject(bytes.toString('utf8'))
  if (parsed === null || !Array.isArray(parsed[wire === 'chat' ? 'choices' : 'output'])) {
    throw upstreamError('upstream_invalid_response')
  }
  const members = {
    model: JSON.stringify(id),
    ...(wire === 'responses' && { output_text: JSON.stringify(outputText(parsed['output'])) }),
  }
  return { kind: 'whole', body: spliceMembers(bytes, members), usage: readUsage(parsed['usage']) }
}

/** Waits for the first frame, so that a stream that breaks before it can still be tried elsewhere. */
async function stream(answer: UpstreamAnswer, request: PassedRequest): Promise<PassedAnswer> {
  const tap =
    request.wire === 'chat'
      ? new ChatTap(keepsUsage(request.body['stream_options']))
      : new ResponsesTap(request.model.id, request.body)
  const reader = new FrameReader(answer, maxFrameBytes)
  const first = await reader.next()
  if (first === null) throw upstreamError('upstream_cut')
  return { kind: 'stream', tap, pieces: pieces(first, reader, tap, answer, request) }
}

async function* pieces(
  first: Buffer[],
  rest: FrameReader,
  tap: StreamTap,
  answer: UpstreamAnswer,
  request: PassedRequest,
): AsyncGenerator<Buffer | string> {
  let complete = false
  try {
    for (let frames: Buffer[] | null = first; frames !== null; frames = await rest.next()) {
      const taken = takeAll(frames, tap)
      if (tap.done) {
        await request.beforeEnd(tap)
        complete = true
        yield taken
        return
      }
      if (taken.length > 0) yield taken
    }
    const last = tap.end()
    if (last === null) throw upstreamError(tap.failed ? 'upstream_failed' : 'upstream_cut')
    await request.beforeEnd(tap)
    yield last
  } catch (error) {
    const failure = error instanceof FrameTooLarge ? upstreamError('upstream_invalid_response') : error
    const told = connectionError(failure, request.signal, 'upstream_cut')
    if (told instanceof UpstreamError) {
      const words = tap.fail(told)
      if (words !== '') yield words
    }
    throw told
  } finally {
    if (complete) answer.finish(readOutMs)
    else answer.close()
  }
}

/** The frames as the client gets them. What was not changed and came together goes out together. */
function takeAll(frames: readonly Buffer[], tap: StreamTap): Buffer {
  const taken: Buffer[] = []
  for (const frame of frames) {
    const kept = tap.take(frame)
    if (kept !== null) taken.push(typeof kept === 'string' ? Buffer.from(kept) : kept)
    if (tap.done) break
  }
  return taken.length === 1 ? (taken[0] ?? Buffer.alloc(0)) : Buffer.concat(taken)
}
