import type { Platform } from './platform.ts'

/** Returns a controller that aborts with `parent` or on its own; `release` detaches it from the parent. */
export function linkedController(parent: AbortSignal | undefined): {
  controller: AbortController
  release: () => void
} {
  const controller = new AbortController()
  if (parent === undefined) return { controller, release: () => {} }
  const follow = () => controller.abort(parent.reason)
  if (parent.aborted) follow()
  else parent.addEventListener('abort', follow, { once: true })
  return { controller, release: () => parent.removeEventListener('abort', follow) }
}

/** Aborts `controller` with `timeout()` after `ms`, unless it is infinite or the returned function is called first. */
export function abortAfter(
  platform: Platform,
  ms: number,
  controller: AbortController,
  timeout: () => Error,
): () => void {
  if (ms === Number.POSITIVE_INFINITY) return () => {}
  const timer = new AbortController()
  platform.sleep(ms, timer.signal).then(
    () => controller.abort(timeout()),
    () => {},
  )
  return () => timer.abort()
}

/**
 * Runs `work` with a signal that aborts with `timeout()` after `ms`, or with the parent's reason if that comes first.
 */
export async function withDeadline<T>(
  platform: Platform,
  limit: { readonly ms: number; readonly parent: AbortSignal | undefined; readonly timeout: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { controller, release } = linkedController(limit.parent)
  const disarm = abortAfter(platform, limit.ms, controller, limit.timeout)
  try {
    return await work(controller.signal)
  } finally {
    disarm()
    release()
  }
}
