/** The owner of the tree may make any call impossible. */
export function tried<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}
