import { operation } from '../operation.ts'
import { Transcription, TranscriptionForm } from '../transcription.ts'

/** Transcription. */
export const transcriptionOperations = {
  createTranscription: operation({
    method: 'POST',
    path: '/v1/transcriptions',
    summary: 'Transcribe a recording',
    description:
      'Transcribes a recording. The form contains `file` and `durationMs` and nothing else. The service detects the format from the bytes and measures the length by decoding them.',
    tag: 'Transcription',
    access: 'bearer',
    capability: 'svc.cloud.transcriptions:create',
    form: TranscriptionForm,
    responses: { 200: { description: 'The transcript.', schema: Transcription } },
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
