/**
 * Yields the values of several sources, as they come. When it ends, for whatever reason, it ends all of them.
 *
 * A source that never yields must not be raced again for each item of the others: a promise that stays pending keeps
 * every race that waited for it, with its result.
 * @param stop makes sources that wait come to an end
 * @throws whatever a source throws
 */
export async function* merged<T>(sources: readonly AsyncGenerator<T>[], stop: () => void): AsyncGenerator<T> {
  const pending = new Map<AsyncGenerator<T>, Promise<void>>()
  const arrived: (() => readonly T[])[] = []
  let wake = () => {}
  const pull = (source: AsyncGenerator<T>) => {
    const arrive = (take: () => readonly T[]) => {
      pending.delete(source)
      arrived.push(take)
      wake()
    }
    const next = source.next().then(
      result =>
        arrive(() => {
          if (result.done === true) return []
          pull(source)
          return [result.value]
        }),
      error =>
        arrive(() => {
          throw error
        }),
    )
    pending.set(source, next)
  }
  for (const source of sources) pull(source)
  try {
    for (;;) {
      const take = arrived.shift()
      if (take !== undefined) yield* take()
      else if (pending.size === 0) return
      else await new Promise<void>(resolve => (wake = resolve))
    }
  } finally {
    stop()
    await Promise.allSettled(pending.values())
    await Promise.allSettled(sources.map(source => source.return(undefined)))
  }
}
