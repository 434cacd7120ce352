import type { Transcription } from '@berth/contract'
import { ApiError } from '@berth/platform/kit/api-error.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { AudioForm } from './audio-form.ts'
import { type AudioFormat, audioFormatOf } from './audio-format.ts'
import { hasProgram } from './confined-program.ts'
import { decodeAudio, isAsLongAs, isSilent, isTooLong } from './decode-audio.ts'
import { type Engine, EngineFailed } from './engine.ts'

/** Returns, for people, what this machine lacks for an engine; null if nothing. */
export function missingFor(engine: Engine): string | null {
  return hasProgram('ffmpeg') ? engine.missing() : 'install the package ffmpeg'
}

/**
 * Returns the engine if this machine has all that it needs.
 *
 * @throws ApiError 503 `transcription_not_configured`, whose `message` says how to correct that
 */
export function readyEngine(engine: Engine): Engine {
  const missing = missingFor(engine)
  if (missing !== null) throw refusal('transcription_not_configured', { message: missing })
  return engine
}

/**
 * Returns the format of a recording by its first bytes.
 *
 * @throws ApiError 415 `unsupported_audio_format`
 */
export function requireFormat({ bytes }: AudioForm): AudioFormat {
  const format = audioFormatOf(bytes)
  if (format === null) throw refusal('unsupported_audio_format')
  return format
}

/**
 * Transcribes a recording. It does not trust its sender: the bytes determine the format, and decoding determines the
 * length.
 *
 * @throws ApiError 422 `invalid_audio` or `empty_transcript`, 400 `invalid_audio_duration`, 503
 * `transcription_unavailable`
 */
export async function transcribe(
  engine: Engine,
  form: AudioForm & { readonly format: AudioFormat },
  signal: AbortSignal,
): Promise<Transcription> {
  const { bytes, format } = form
  const decoded = await decodeAudio(bytes, format, signal)
  if (decoded === null) throw refusal('invalid_audio')
  if (isTooLong(decoded)) throw refusal('invalid_audio_duration')
  if (!isAsLongAs(decoded, form.durationMs)) throw refusal('invalid_audio')
  if (isSilent(decoded)) throw refusal('empty_transcript')
  const { text, language } = await heard(engine, { ...decoded, bytes, format }, signal)
  const transcript = text.replaceAll('\0', '').toWellFormed().trim()
  if (transcript === '') throw refusal('empty_transcript')
  return { text: transcript, durationMs: decoded.durationMs, ...(language !== undefined && { language }) }
}

async function heard(engine: Engine, ...args: Parameters<Engine['transcribe']>): ReturnType<Engine['transcribe']> {
  try {
    return await engine.transcribe(...args)
  } catch (cause) {
    if (!(cause instanceof EngineFailed)) throw cause
    throw new ApiError(503, 'transcription_unavailable', { cause, headers: { 'retry-after': '2' } })
  }
}
