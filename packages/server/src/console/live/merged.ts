/**
 * Yields what several sources yield, as it comes. When it ends, for whatever reason, it ends all of them.
 * @param stop makes sources that wait come to an end
 */
export async function* merged<T>(sources: readonly AsyncGenerator<T>[], stop: () => void): AsyncGenerator<T> {
  const step = async (source: AsyncGenerator<T>) => ({ source, result: await source.next() })
  const pending = new Map(sources.map(source => [source, step(source)]))
  try {
    while (pending.size > 0) {
      const { source, result } = await Promise.race(pending.values())
      if (result.done === true) {
        pending.delete(source)
        continue
      }
      pending.set(source, step(source))
      yield result.value
    }
  } finally {
    stop()
    await Promise.allSettled(pending.values())
    await Promise.allSettled(sources.map(source => source.return(undefined)))
  }
}
