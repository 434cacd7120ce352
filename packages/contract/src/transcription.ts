import { type Static, Type } from 'typebox'
import { limits } from './limits.ts'
import { closed, open } from './scalar.ts'

/** The form of `createTranscription`. This schema documents it; the handler reads it part by part. */
export const TranscriptionForm = Type.Object(
  {
    file: Type.String({
      format: 'binary',
      description: `A recording in FLAC, MP3, MP4/M4A, Ogg, WAV or WebM of at most ${limits.audioBytes} bytes.`,
    }),
    durationMs: Type.Integer({
      minimum: limits.audioMs.least,
      maximum: limits.audioMs.most,
      description: 'Length of the recording, in milliseconds.',
    }),
  },
  { title: 'TranscriptionForm', description: 'A recording to transcribe.', ...closed },
)

/** The transcript of a recording. */
export const Transcription = Type.Object(
  {
    text: Type.String(),
    durationMs: Type.Integer({ description: 'Length of the decoded recording, in milliseconds.' }),
    language: Type.Optional(Type.String({ description: 'The language, if the engine reports it.' })),
  },
  { title: 'Transcription', description: 'The transcript of a recording.', ...open },
)

export type Transcription = Static<typeof Transcription>
