/**
 * Takes over Ctrl-C: calls `listener` with 1 for the first interrupt, 2 for the second, and so on. Without this, an
 * interrupt ends the process, which is right wherever there is nothing to clean up.
 */
export function onInterrupt(listener: (count: number) => void): Disposable {
  let count = 0
  const handle = () => {
    count++
    listener(count)
  }
  process.on('SIGINT', handle)
  return { [Symbol.dispose]: () => void process.off('SIGINT', handle) }
}
