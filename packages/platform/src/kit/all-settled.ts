/**
 * Waits for all promises before it throws a failure, unlike `Promise.all`. Cleanup after the failure cannot race with
 * the rest.
 */
export async function allSettled<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
