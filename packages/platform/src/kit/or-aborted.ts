import { addAbortListener } from 'node:events'

/**
 * Waits for work that takes no signal, or stops waiting for it. The work goes on.
 * @throws the work's error, or the signal's reason
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: interrupted, reject } = Promise.withResolvers<never>()
  using _listener = addAbortListener(signal, () => reject(signal.reason))
  return await Promise.race([work, interrupted])
}
