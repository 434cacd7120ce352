/**
 * Waits until the condition holds.
 * @throws Error that shows the condition if it does not hold within a minute
 */
export async function until(reached: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!reached()) {
    if (performance.now() > deadline) throw new Error(`not within a minute: ${reached}`)
    // bound: a pause between two looks
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}
