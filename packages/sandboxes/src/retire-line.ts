import { addAbortListener } from 'node:events'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { RetireAnswer, RetireOrder } from '@berth/supervisor'

const answers: readonly string[] = ['ended', 'kept', 'refused'] satisfies RetireAnswer['retired'][]

/**
 * Has a supervisor end an agent without a prompt, and waits for that.
 *
 * @param stream a new one of the sandbox, which belongs to this function
 * @throws Error if the supervisor does not answer; the signal's reason
 */
export async function retireAgent(
  stream: Duplex,
  retire: RetireOrder,
  signal: AbortSignal,
): Promise<RetireAnswer['retired']> {
  using _listener = addAbortListener(signal, () => stream.destroy())
  try {
    signal.throwIfAborted()
    stream.write(`${JSON.stringify({ retire })}\n`)
    const reply = await text(stream)
    const answer: unknown = /^\{"retired":"(\w+)"\}\n$/.exec(reply)?.[1]
    if (typeof answer !== 'string' || !answers.includes(answer)) throw new Error('the supervisor did not answer')
    return answer as RetireAnswer['retired']
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    stream.destroy()
  }
}
