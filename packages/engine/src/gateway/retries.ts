import { setTimeout as sleep } from 'node:timers/promises'
import { ModelFaultError } from './model-facts.ts'

/** Retries of a request to the gateway that failed for a transient cause. */
export const MODEL_RETRIES = 4
/** Longest wait that the gateway may ask for; if it asks for more, the Run ends with the refusal. */
export const MAX_RETRY_AFTER_MS = 60_000

/**
 * Repeats a request to the gateway after transient faults, as the SDK repeats those to models: with doubled delays, and never
 * sooner than the gateway asks for.
 * @throws ModelFaultError the last fault, the signal's reason
 */
export async function withRetries<Result>(
  request: () => Promise<Result>,
  { baseMs, signal }: { readonly baseMs: number; readonly signal: AbortSignal },
): Promise<Result> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof ModelFaultError) || retries === MODEL_RETRIES) throw error
      const { transient, retryAfterMs = 0 } = error.fault
      if (!transient || retryAfterMs > MAX_RETRY_AFTER_MS) throw error
      await sleep(Math.max(baseMs * 2 ** retries, retryAfterMs), undefined, { signal }).catch(() => undefined)
      signal.throwIfAborted()
    }
  }
}
