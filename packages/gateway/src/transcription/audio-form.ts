import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { limits } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { ClientLeft } from '@berth/platform/kit/client-left.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import busboy from 'busboy'

/** Bytes of a refused form that are still read, so that the client gets to read the refusal. */
const toleratedExcessBytes = 16 * 1_048_576

/** Bound of the form's bytes besides the recording: the heads of two parts, a number and separators. */
const mostFramingBytes = 64 * 1024

/** A form that is being received. */
interface SentForm {
  readonly stream: Readable
  keep(mostBytes: number): { append(chunk: Buffer): boolean; take(): Buffer }
  watch(late: () => void): Disposable
}

/** A recording as the client sent it. */
export interface AudioForm {
  readonly bytes: Buffer
  readonly durationMs: number
}

/**
 * Reads the form in one pass: one file and one field. A form that is too large is refused at once. Other faults are
 * refused at the end, in this order: the form, the file, the length.
 *
 * @throws ApiError 400 `invalid_audio_upload`, `audio_file_required`, `invalid_audio_duration`, 408 `request_timeout`,
 * 413 `audio_too_large`, 503 `service_unavailable` if there is no room for the recording
 * @throws Error if the client disconnects
 */
export async function readAudioForm(headers: IncomingHttpHeaders, form: SentForm): Promise<AudioForm> {
  const { stream: body } = form
  // The client may have left during admission; its stream emits nothing more then.
  if (body.destroyed && !body.readableEnded) throw brokenOff()
  const parser = openParser(headers, body)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let recording: ReturnType<SentForm['keep']> | undefined
  let sizeBytes = 0
  let receivedBytes = 0
  let durationMs: string | undefined
  const refuse = (error: ApiError) => {
    drain(body)
    reject(error)
  }
  const misshapen = () => refuse(refusal('invalid_audio_upload'))
  parser.on('file', (name, file) => {
    if (name !== 'file' || recording !== undefined) {
      file.resume()
      return misshapen()
    }
    const kept = form.keep(limits.audioBytes)
    recording = kept
    file.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > limits.audioBytes) refuse(refusal('audio_too_large'))
      else if (!kept.append(chunk)) refuse(refusal('service_unavailable'))
    })
    // A truncated part; the form's own error reports it as well.
    file.on('error', misshapen)
  })
  parser.on('field', (name, value) => {
    if (name !== 'durationMs' || durationMs !== undefined) misshapen()
    else durationMs = value
  })
  parser.on('partsLimit', misshapen)
  parser.on('error', misshapen)
  parser.on('close', resolve)
  body.once('error', reject)
  body.once('close', () => {
    if (!body.readableEnded) reject(brokenOff())
  })
  body.on('data', (chunk: Buffer) => {
    receivedBytes += chunk.length
    if (receivedBytes > limits.audioBytes + mostFramingBytes) refuse(refusal('audio_too_large'))
  })
  using _patience = form.watch(() => refuse(refusal('request_timeout', {}, undefined, { connection: 'close' })))
  body.pipe(parser)
  await promise
  if (recording === undefined) throw refusal('audio_file_required')
  const length = /^[1-9]\d{2,5}$/.test(durationMs ?? '') ? Number(durationMs) : 0
  if (length < limits.audioMs.least || length > limits.audioMs.most) throw refusal('invalid_audio_duration')
  return { bytes: recording.take(), durationMs: length }
}

const brokenOff = () => new ClientLeft('the client broke off its form')

function openParser(headers: IncomingHttpHeaders, body: Readable): busboy.Busboy {
  try {
    return busboy({
      headers,
      limits: { parts: 10, fieldNameSize: 100, fieldSize: 100, headerPairs: 20 },
    })
  } catch (cause) {
    // The boundary is missing, or the content type has invalid parameters.
    drain(body)
    throw new ApiError(400, 'invalid_audio_upload', { cause })
  }
}

/** Discards the rest. Closing the connection while the client still writes would lose the refusal. */
function drain(body: Readable): void {
  body.unpipe()
  let dropped = 0
  body.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > toleratedExcessBytes) body.destroy()
  })
  body.resume()
}
