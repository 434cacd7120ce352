import { operation } from '../operation.ts'
import { Transcription, TranscriptionForm } from '../transcription.ts'

/** Transcription (interface 4.11). */
export const transcriptionOperations = {
  createTranscription: operation({
    method: 'POST',
    path: '/v1/transcriptions',
    summary: 'Transcribe a recording',
    description:
      'One `file` and `durationMs`, and nothing else. The format is told by the bytes, the length by decoding them.',
    tag: 'Transcription',
    access: 'bearer',
    capability: 'svc.cloud.transcriptions:create',
    form: TranscriptionForm,
    responses: { 200: { description: 'What was said.', schema: Transcription } },
    errors: [
      'audio_file_required',
      'invalid_audio_duration',
      'invalid_audio_upload',
      'audio_too_large',
      'unsupported_audio_format',
      'invalid_audio',
      'empty_transcript',
      'transcription_not_configured',
      'transcription_unavailable',
    ],
  }),
} as const
