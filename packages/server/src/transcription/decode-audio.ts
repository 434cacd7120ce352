import { limits } from '@berth/contract'
import { type AudioFormat, audioFormats } from './audio-format.ts'
import { inputPath, type ProgramBounds, runConfined } from './confined-program.ts'

/** What the engines get: one channel of signed 16-bit samples. */
export const sampleRate = 16_000
const bytesPerMs = (sampleRate / 1000) * 2
/** Decoders add up to a few frames to what was recorded. */
const paddingMs = 250
/** Loudest sample of what counts as silence: 46 dB below the loudest there is. */
const silentPeak = 160

const bounds: ProgramBounds = {
  memoryBytes: 1024 ** 3,
  seconds: 60,
  outputBytes: (limits.audioMs.most + 2000) * bytesPerMs,
}

/** A recording as it sounds. */
export interface Decoded {
  readonly samples: Buffer
  readonly durationMs: number
}

/** Decodes a recording; null where that is not possible. Of one that is too long, the first second too much is kept. */
export async function decodeAudio(bytes: Buffer, format: AudioFormat, signal: AbortSignal): Promise<Decoded | null> {
  const { demuxer } = audioFormats[format]
  const seconds = String(limits.audioMs.most / 1000 + 1)
  const input = ['-protocol_whitelist', 'file', '-f', demuxer, '-i', `file:${inputPath}`]
  const output = ['-map', '0:a:0', '-t', seconds, '-ac', '1', '-ar', String(sampleRate), '-f', 's16le', 'pipe:1']
  const options = ['-nostdin', '-hide_banner', '-v', 'error', '-threads', '1']
  const end = await runConfined(['ffmpeg', ...options, ...input, ...output], bytes, bounds, signal)
  if (!end.ok || end.output.length === 0) return null
  return { samples: end.output, durationMs: Math.round(end.output.length / bytesPerMs) }
}

/** Whether a recording is longer than may be transcribed, by more than what decoding adds. */
export const isTooLong = ({ durationMs }: Decoded): boolean => durationMs > limits.audioMs.most + paddingMs

/** Whether a recording is as long as its sender says, give or take a second and a tenth: clocks of recorders differ. */
export const isAsLongAs = ({ durationMs }: Decoded, saidMs: number): boolean =>
  durationMs >= limits.audioMs.least - paddingMs / 2 && Math.abs(durationMs - saidMs) <= 1000 + saidMs / 10

/** Whether nothing can be heard. Engines make words up for silence. */
export function isSilent({ samples }: Decoded): boolean {
  for (let at = 0; at + 1 < samples.length; at += 2) if (Math.abs(samples.readInt16LE(at)) > silentPeak) return false
  return true
}
