import { type Static, Type } from 'typebox'
import { limits } from './limits.ts'
import { closed, open } from './scalar.ts'

/** The form that brings a recording (interface 4.11). It is described here, and read part by part. */
export const TranscriptionForm = Type.Object(
  {
    file: Type.String({
      format: 'binary',
      description: `FLAC, MP3, MP4/M4A, Ogg, WAV or WebM of at most ${limits.audioBytes} bytes.`,
    }),
    durationMs: Type.Integer({
      minimum: limits.audioMs.least,
      maximum: limits.audioMs.most,
      description: 'Length of the recording.',
    }),
  },
  { title: 'TranscriptionForm', ...closed },
)

/** What was said in a recording (completions, Other). */
export const Transcription = Type.Object(
  {
    text: Type.String(),
    durationMs: Type.Integer({ description: 'Length of the recording as it was decoded.' }),
    language: Type.Optional(Type.String({ description: 'Where the engine tells.' })),
  },
  { title: 'Transcription', ...open },
)

export type Transcription = Static<typeof Transcription>
