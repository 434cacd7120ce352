/**
 * As `Promise.all`, but a failure is thrown only once nothing of the rest is still under way: what cleans up after the
 * failure must not race with it.
 */
export async function allSettled<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
