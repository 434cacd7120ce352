/** Longest part of a pause between two looks that counts. */
const checkMs = 100

/**
 * Returns a function that says whether a test has waited long enough. Call it at each look: between two of them at most a tenth
 * of a second counts, so that time in which the machine did not let this process run is not held against the product.
 *
 * @param ms the bound, in time in which this process ran
 * @param pauseMs what the caller pauses itself between two looks, which counts whole
 */
export function patience(ms: number, pauseMs = 0): () => boolean {
  let countedMs = 0
  let last = performance.now()
  return () => {
    const now = performance.now()
    countedMs += Math.min(now - last, checkMs + pauseMs)
    last = now
    return countedMs > ms
  }
}
