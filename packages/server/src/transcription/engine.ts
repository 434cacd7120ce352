import type { AudioFormat } from './audio-format.ts'
import type { Decoded } from './decode-audio.ts'

/** A recording that was judged. */
export interface Recording extends Decoded {
  /** As it was sent. */
  readonly bytes: Buffer
  readonly format: AudioFormat
}

/** What hears words in recordings. */
export interface Engine {
  /** What this machine lacks for it, in words; null where nothing. */
  readonly missing: () => string | null
  /** @throws EngineFailed, or the signal's reason */
  transcribe(recording: Recording, signal: AbortSignal): Promise<{ readonly text: string; readonly language?: string }>
}

/** The engine could not be asked, or gave no answer. */
export class EngineFailed extends Error {
  override readonly name = 'EngineFailed'
}
