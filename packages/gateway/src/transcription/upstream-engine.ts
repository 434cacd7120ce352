import type { TranscriptionConfig } from '@berth/platform/settings/config-file.ts'
import { audioFormats } from './audio-format.ts'
import { type Engine, EngineFailed } from './engine.ts'

const TIMEOUT_MS = 180_000
const MAX_ANSWER_BYTES = 1024 ** 2

/**
 * Returns an engine that asks any service with OpenAI's `POST /audio/transcriptions`. The service gets the recording as
 * the client sent it.
 */
export function upstreamEngine(to: TranscriptionConfig & { kind: 'openai-compatible' }): Engine {
  return {
    missing: () => null,
    async transcribe({ bytes, format }, signal) {
      const form = new FormData()
      form.set(
        'file',
        new Blob([new Uint8Array(bytes)], { type: audioFormats[format].mediaType }),
        `recording.${format}`,
      )
      form.set('model', to.model)
      form.set('response_format', 'json')
      try {
        const answer = await fetch(`${to.baseUrl}/audio/transcriptions`, {
          method: 'POST',
          headers: to.apiKey === undefined ? {} : { authorization: `Bearer ${to.apiKey}` },
          body: form,
          redirect: 'error',
          signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        })
        if (!answer.ok) {
          await answer.body?.cancel()
          throw new EngineFailed(`the engine answered ${answer.status}`)
        }
        return readAnswer(await boundedText(answer))
      } catch (cause) {
        signal.throwIfAborted()
        throw cause instanceof EngineFailed ? cause : new EngineFailed('the engine cannot be reached', { cause })
      }
    },
  }
}

async function boundedText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new EngineFailed('the answer of the engine exceeds its bound')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function readAnswer(body: string): { text: string; language?: string } {
  const value: unknown = JSON.parse(body)
  if (typeof value !== 'object' || value === null || !('text' in value) || typeof value.text !== 'string') {
    throw new EngineFailed('the engine answered without text')
  }
  const language = 'language' in value && typeof value.language === 'string' ? value.language : undefined
  return { text: value.text, ...(language !== undefined && { language }) }
}
