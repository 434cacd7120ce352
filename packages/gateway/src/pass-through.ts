import type { CountedWire, GatewayUsage, Wire } from '@berth/core/accounting/upstream.ts'
import { upstreamCode, upstreamError } from '@berth/core/accounting/upstream-status.ts'
import { parseExactly } from '@berth/core/http/body/exact-numbers.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { parseObject } from '@berth/platform/kit/json.ts'
import { LONGEST_PAUSE_MS, retryAfterMs } from '@berth/platform/kit/retry-after.ts'
import { UpstreamError } from '@berth/platform/kit/upstream-error.ts'
import { FrameReader, FrameTooLarge, frameData } from './formats/frame-splitter.ts'
import { generateFormat } from './formats/generate-format.ts'
import { messagesFormat } from './formats/messages-format.ts'
import { chatFormat, responsesFormat } from './formats/openai-formats.ts'
import type { StreamRelay } from './formats/stream-relay.ts'
import type { FormattedRequest, ProviderCall, WireFormat } from './formats/wire-format.ts'
import { connectionError, type ProviderClient } from './providers/provider-client.ts'
import type { UpstreamAnswer } from './providers/upstream-answer.ts'
import { detailOfError } from './providers/upstream-reason.ts'
import { toFailure } from './translate/failure.ts'

/** A request to a provider that speaks its format, its body as `exactBody` of a ModelRequest. */
export interface PassedRequest extends FormattedRequest {
  readonly wire: Wire
  /** Headers to pass on. */
  readonly headers: Readonly<Record<string, string>>
  /** Aborted if the client leaves or the time is up; in the latter case the reason is an UpstreamError. */
  readonly signal: AbortSignal
  /** For dates of a provider that does not tell the time of its own clock. */
  readonly clock: Clock
  /** Runs before the client gets the last piece of a stream. */
  readonly beforeEnd: (relay: StreamRelay) => Promise<void>
}

/** A provider's answer. A stream has its first frame in hand. */
export type PassedAnswer =
  | { readonly kind: 'whole'; readonly body: string; readonly usage: GatewayUsage | null }
  | { readonly kind: 'stream'; readonly relay: StreamRelay; readonly pieces: AsyncIterable<Buffer | string> }

const formats = {
  chat: chatFormat,
  responses: responsesFormat,
  messages: messagesFormat,
  generate: generateFormat,
} as const satisfies Readonly<Record<Wire, WireFormat>>

const maxFrameBytes = 16 * 1024 ** 2
const maxAnswerBytes = 64 * 1024 ** 2
const maxErrorBytes = 64 * 1024
const readOutMs = 1000

/** A request as a provider gets it. */
export interface WrittenCall {
  readonly path: string
  readonly body: Buffer
}

/**
 * Writes a request to a provider as it is, except for the members that its format sets. All attempts send the same call:
 * to write a large body takes the event loop.
 */
export const writeCall = (request: FormattedRequest & Pick<PassedRequest, 'wire'>): WrittenCall =>
  write(request, formats[request.wire].call(request))

const write = ({ body }: FormattedRequest, { path, members }: ProviderCall): WrittenCall => ({
  path,
  body: Buffer.from(JSON.stringify({ ...body, ...members })),
})

/**
 * Sends a call to a provider, and returns its answer.
 * @throws UpstreamError if the failure comes before the first byte of the answer
 */
export async function passThrough(
  client: ProviderClient,
  call: WrittenCall,
  request: PassedRequest,
): Promise<PassedAnswer> {
  const format: WireFormat = formats[request.wire]
  const answer = await send(client, call, request)
  try {
    if (!request.streams) {
      const { plain, exact } = await readJson(answer)
      const usage = format.whole(plain, request)?.usage
      const whole = format.whole(exact, request)
      if (whole === null || usage === undefined) throw upstreamError('upstream_invalid_response')
      return { kind: 'whole', body: JSON.stringify(whole.body), usage }
    }
    if (!String(answer.headers['content-type']).startsWith('text/event-stream')) {
      throw upstreamError('upstream_invalid_response')
    }
    return await stream(answer, format.relay(request), request)
  } catch (error) {
    answer.close()
    throw connectionError(error, request.signal, 'upstream_cut')
  }
}

/**
 * Passes on a request to count tokens, which runs no model.
 * @throws UpstreamError
 */
export async function passCount(
  client: ProviderClient,
  request: Omit<PassedRequest, 'beforeEnd'> & { readonly wire: CountedWire },
): Promise<string> {
  const answer = await send(client, write(request, formats[request.wire].countCall(request)), request)
  try {
    const { exact } = await readJson(answer)
    return JSON.stringify(exact)
  } catch (error) {
    answer.close()
    throw connectionError(error, request.signal, 'upstream_cut')
  }
}

type Sent = Pick<PassedRequest, 'headers' | 'signal' | 'clock'>

/**
 * Sends a request and returns the provider's answer if its status is 200.
 * @throws UpstreamError
 */
async function send(client: ProviderClient, call: WrittenCall, { headers, signal, clock }: Sent) {
  const answer = await client.send({ method: 'POST', ...call, headers, signal })
  if (answer.status === 200) return answer
  const refusal = await refusalOf(answer, clock)
  answer.close()
  throw connectionError(refusal, signal, 'upstream_cut')
}

/** Reads an answer, to judge it and to write it again. */
async function readJson(answer: UpstreamAnswer) {
  const bytes = await answer.readAll(maxAnswerBytes)
  const answered = bytes === null ? null : parseExactly(bytes)
  if (answered === null) throw upstreamError('upstream_invalid_response')
  return answered
}

/** Reads a provider's refusal. Its words reach the client only if they concern the request itself. */
async function refusalOf(answer: UpstreamAnswer, clock: Clock): Promise<UpstreamError> {
  const text = await answer.readAll(maxErrorBytes).then(
    bytes => String(bytes ?? ''),
    () => '',
  )
  const code = upstreamCode(answer.status, text)
  const { reason, param } = detailOfError(text)
  const retryAfterSeconds = pauseOf(answer, clock)
  return upstreamError(code, {
    ...(code !== 'upstream_credential_refused' && { reason, param }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** Returns the pause that a provider asks for, by `Retry-After` or OpenAI's `retry-after-ms`, in seconds. */
function pauseOf({ headers }: UpstreamAnswer, clock: Clock): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN)
  const ms = milliseconds >= 0 ? Math.min(milliseconds, LONGEST_PAUSE_MS) : retryAfterMs(headers, clock)
  return ms === undefined ? undefined : Math.ceil(ms / 1000)
}

/** Waits for the first frame, so that a stream that breaks before it can be retried or fall back. */
async function stream(answer: UpstreamAnswer, relay: StreamRelay, request: PassedRequest): Promise<PassedAnswer> {
  const reader = new FrameReader(answer, maxFrameBytes)
  const first = await reader.next()
  if (first === null) throw upstreamError('upstream_cut')
  const refusal = first[0]?.includes('"error"') === true ? errorIn(first[0]) : null
  if (refusal !== null) throw refusal
  return { kind: 'stream', relay, pieces: pieces(first, reader, relay, answer, request) }
}

/**
 * Returns the error in a provider's first frame. Nothing has been sent yet, so it becomes a status, and another
 * provider may take the request.
 */
function errorIn(frame: Buffer): UpstreamError | null {
  const data = parseObject(frameData(frame))
  if (data === null || data['choices'] !== undefined || data['response'] !== undefined) return null
  if (data['type'] !== 'error' && (data['error'] ?? null) === null) return null
  return toFailure(data['error'] ?? data)
}

async function* pieces(
  first: Buffer[],
  rest: FrameReader,
  relay: StreamRelay,
  answer: UpstreamAnswer,
  request: PassedRequest,
): AsyncGenerator<Buffer | string> {
  let complete = false
  try {
    for (let frames: Buffer[] | null = first; frames !== null; frames = await rest.next()) {
      const taken = takeAll(frames, relay)
      if (relay.done) {
        await request.beforeEnd(relay)
        complete = true
        yield taken
        return
      }
      if (taken.length > 0) yield taken
    }
    const last = relay.end()
    if (last === null) throw upstreamError(relay.failed ? 'upstream_failed' : 'upstream_cut')
    await request.beforeEnd(relay)
    if (last !== '') yield last
  } catch (error) {
    const failure = error instanceof FrameTooLarge ? upstreamError('upstream_invalid_response') : error
    const cutError = connectionError(failure, request.signal, 'upstream_cut')
    if (cutError instanceof UpstreamError) {
      const frame = relay.fail(cutError)
      if (frame !== '') yield frame
    }
    throw cutError
  } finally {
    if (complete) answer.finish(readOutMs)
    else answer.close()
  }
}

/** Returns the frames for the client. Frames that arrived together leave together. */
function takeAll(frames: readonly Buffer[], relay: StreamRelay): Buffer {
  const taken: Buffer[] = []
  for (const frame of frames) {
    const kept = relay.take(frame)
    if (kept !== null) taken.push(typeof kept === 'string' ? Buffer.from(kept) : kept)
    if (relay.done) break
  }
  return taken.length === 1 ? (taken[0] ?? Buffer.alloc(0)) : Buffer.concat(taken)
}
