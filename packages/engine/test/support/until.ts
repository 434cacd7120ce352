/** Waits until something is so; a test's own timeout bounds it. */
export async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise(resolve => setTimeout(resolve, 5))
}
