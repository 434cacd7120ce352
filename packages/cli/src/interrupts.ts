/**
 * Takes over Ctrl-C: `listener` hears the first interrupt as 1, the next as 2, and so on. Without it an interrupt ends
 * the process, which is what it should do wherever there is nothing to tidy up.
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
