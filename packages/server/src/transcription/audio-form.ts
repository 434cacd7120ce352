import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { limits } from '@berth/contract'
import busboy from 'busboy'
import { ApiError } from '../kit/api-error.ts'
import { ClientLeft } from '../kit/client-left.ts'
import { refusal } from '../kit/refusal.ts'

/** How much of a refused form is still taken in, so that the client gets to read the refusal. */
const toleratedExcessBytes = 16 * 1_048_576

/** All of a form beside its recording: two parts' heads, a number and what stands between them. */
const mostFramingBytes = 64 * 1024

/** A form on its way in. */
interface SentForm {
  readonly stream: Readable
  keep(mostBytes: number): { append(chunk: Buffer): boolean; take(): Buffer }
  watch(late: () => void): Disposable
}

/** A recording as it was sent. */
export interface AudioForm {
  readonly bytes: Buffer
  readonly durationMs: number
}

/**
 * Reads the form in one pass, and keeps of it what it may hold: one file and one field. What is too large is refused as
 * soon as that is known, the rest at the end, in this order: the form, the file, the length.
 *
 * @throws ApiError 400 `invalid_audio_upload`, `audio_file_required`, `invalid_audio_duration`, 408 `request_timeout`,
 *   413 `audio_too_large`, 503 `service_unavailable` if there is no room for the recording
 * @throws Error when the client breaks off
 */
export async function readAudioForm(headers: IncomingHttpHeaders, form: SentForm): Promise<AudioForm> {
  const { stream: body } = form
  // It may have left while it was let in; then nothing more is told of it.
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
    // A part that is cut off: the form's own error says so as well.
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
    // No boundary, or a type with parameters that are none.
    drain(body)
    throw new ApiError(400, 'invalid_audio_upload', { cause })
  }
}

/** Throws the rest away: closing the connection on a client that still writes would lose it the refusal. */
function drain(body: Readable): void {
  body.unpipe()
  let dropped = 0
  body.on('data', (chunk: Buffer) => {
    dropped += chunk.length
    if (dropped > toleratedExcessBytes) body.destroy()
  })
  body.resume()
}
