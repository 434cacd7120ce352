import type { Platform } from '@berth/client'

/** A sign-in took too long. */
export class SignInTimeout extends Error {
  override readonly name = 'SignInTimeout'
}

/** Waits for a value, at most for a time. @throws the result of `late`, or the signal's reason */
export async function within<T>(
  value: Promise<T>,
  ms: number,
  late: () => Error,
  platform: Pick<Platform, 'sleep'>,
  signal: AbortSignal,
): Promise<T> {
  const settled = new AbortController()
  const wait = platform.sleep(ms, AbortSignal.any([signal, settled.signal])).then(() => {
    throw late()
  })
  try {
    return await Promise.race([value, wait])
  } finally {
    settled.abort()
    wait.catch(() => {})
  }
}
