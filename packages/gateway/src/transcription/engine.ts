import type { AudioFormat } from './audio-format.ts'
import type { Decoded } from './decode-audio.ts'

/** A recording that passed all checks. */
export interface Recording extends Decoded {
  /** The bytes as the client sent them. */
  readonly bytes: Buffer
  readonly format: AudioFormat
}

/** A speech recogniser. */
export interface Engine {
  /** For people: the missing part of this machine; null if nothing is missing. */
  readonly missing: () => string | null
  /** @throws EngineFailed, or the signal's reason */
  transcribe(recording: Recording, signal: AbortSignal): Promise<{ readonly text: string; readonly language?: string }>
}

/** The engine could not be reached, or gave no answer. */
export class EngineFailed extends Error {
  override readonly name = 'EngineFailed'
}
