/**
 * Waits until something is so.
 * @throws Error that shows what was looked at, after a minute
 */
export async function until(reached: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!reached()) {
    if (performance.now() > deadline) throw new Error(`not within a minute: ${reached}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
