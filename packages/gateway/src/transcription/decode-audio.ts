import { limits } from '@berth/contract'
import { type AudioFormat, audioFormats } from './audio-format.ts'
import { inputPath, type ProgramBounds, runConfined } from './confined-program.ts'

/** Sample rate for the engines, in one channel of signed 16-bit samples. */
export const sampleRate = 16_000
const bytesPerMs = (sampleRate / 1000) * 2
/** Decoders add up to a few frames to the recording. */
const paddingMs = 250
/** Loudest sample that counts as silence: 46 dB below full scale. */
const silentPeak = 160

const bounds: ProgramBounds = {
  memoryBytes: 1024 ** 3,
  seconds: 60,
  outputBytes: (limits.audioMs.most + 2000) * bytesPerMs,
}

/** A decoded recording. */
export interface Decoded {
  readonly samples: Buffer
  readonly durationMs: number
}

/** Decodes a recording; null if that is impossible. Of one that is too long, one second beyond the bound is kept. */
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

/** Returns true if a recording exceeds the bound by more than decoding adds. */
export const isTooLong = ({ durationMs }: Decoded): boolean => durationMs > limits.audioMs.most + paddingMs

/**
 * Returns true if a recording is as long as its sender declares, within a second and a tenth: recorders' clocks differ.
 */
export const isAsLongAs = ({ durationMs }: Decoded, declaredMs: number): boolean =>
  durationMs >= limits.audioMs.least - paddingMs / 2 && Math.abs(durationMs - declaredMs) <= 1000 + declaredMs / 10

/** Returns true if nothing can be heard. Engines invent words for silence. */
export function isSilent({ samples }: Decoded): boolean {
  for (let at = 0; at + 1 < samples.length; at += 2) if (Math.abs(samples.readInt16LE(at)) > silentPeak) return false
  return true
}
