import type { GatewayProvider } from '../gateway/gateway-provider.ts'

/** The gateway's model for small tasks, if the operator has named one. */
const MODEL = 'small'
const TIMEOUT_MS = 20_000
/** Longest part of a message that the model is shown. */
const MAX_MESSAGE = 4000
/** Some models think whatever they are told. */
const MAX_TOKENS = 1000

const systemPrompt =
  "Give the task below a title: a few words of at most 60 characters that name what is to be done, in the task's own language. Answer with the title alone, without quotes, without Markdown and without a full stop. Do not do the task."

/** Returns a title for a conversation that begins with a message; null if the gateway has no model for it, or it fails. */
export async function titleFor(
  provider: GatewayProvider,
  message: string,
  signal: AbortSignal,
): Promise<string | null> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  try {
    const model = await provider.listed(MODEL, bounded)
    if (model === null) return null
    const content = message.slice(0, MAX_MESSAGE)
    const answer = await provider.runtime.completeSimple(
      model,
      { systemPrompt, messages: [{ role: 'user', content, timestamp: Date.now() }] },
      { maxTokens: MAX_TOKENS, reasoning: 'minimal', signal: bounded },
    )
    const text = answer.content.map(part => (part.type === 'text' ? part.text : '')).join('')
    const title = text.trim().replaceAll(/^["'“‘]+|["'”’]+$/g, '')
    return answer.stopReason === 'stop' && title !== '' ? title : null
  } catch {
    // The title that the platform made of the message stays.
    return null
  }
}
