/** The functions that the client needs; browsers and Node provide all of them, and tests replace them. */
export interface Platform {
  readonly fetch: typeof globalThis.fetch
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Uniform in [0, 1). */
  random(): number
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const wake = () => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }
    const leave = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(wake, ms)
    signal?.addEventListener('abort', leave, { once: true })
  })
}

/** The platform's own functions. `fetch` is looked up per call, so that a page may replace the global one later. */
export const defaultPlatform: Platform = {
  fetch: (input, init) => globalThis.fetch(input, init),
  now: () => Date.now(),
  sleep,
  random: () => Math.random(),
}
