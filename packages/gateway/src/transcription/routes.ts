import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { Semaphore } from '@berth/platform/kit/semaphore.ts'
import type { TranscriptionConfig } from '@berth/platform/settings/config-file.ts'
import { readAudioForm } from './audio-form.ts'
import type { Engine } from './engine.ts'
import { offlineEngine } from './offline-engine.ts'
import { missingFor, readyEngine, requireFormat, transcribe } from './transcribe.ts'
import { upstreamEngine } from './upstream-engine.ts'

/** Recordings that a process holds at once, of up to 20 MiB each, including those being received. */
const MAX_HELD = 16
/** Recordings that are worked on at once. Each takes its size again, and a processor while it is decoded. */
const MAX_WORKED_ON = 2

/** Returns the handler of transcriptions (`createTranscription`). */
export function transcriptionHandlers(choice: TranscriptionConfig | undefined): Pick<Handlers, 'createTranscription'> {
  const engine = engineOf(choice)
  const semaphore = new Semaphore(MAX_WORKED_ON)
  let held = 0
  return {
    createTranscription: async ({ principal, body, headers, signal }) => {
      if (held >= MAX_HELD) throw refusal('transcription_unavailable')
      held++
      try {
        const form = await readAudioForm(headers, body)
        const format = requireFormat(form)
        // After the form, so that callers learn their own faults first, even if this deployment cannot transcribe.
        const ready = readyEngine(engine)
        using _permit = await semaphore.take(signal, principal.organizationId)
        return { status: 200, body: await transcribe(ready, { ...form, format }, signal) }
      } finally {
        held--
      }
    },
  }
}

/** Returns true if this machine has everything that transcription needs. */
export const canTranscribe = (choice: TranscriptionConfig | undefined): boolean => missingFor(engineOf(choice)) === null

/** Without a choice the local recogniser serves, if the machine has it. */
const engineOf = (choice: TranscriptionConfig | undefined): Engine =>
  choice === undefined || choice.kind === 'offline' ? offlineEngine : upstreamEngine(choice)
