/** Runs work for one key at a time, in the order of the calls; different keys do not wait for each other. */
export type KeyedLock = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Creates a lock that remembers only the keys in use. */
export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = tails.get(key) ?? Promise.resolve()
    const turn = before.then(work, work)
    const tail = turn.catch(() => undefined)
    tails.set(key, tail)
    try {
      return await turn
    } finally {
      if (tails.get(key) === tail) tails.delete(key)
    }
  }
}
