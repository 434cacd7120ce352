import type { Duplex } from 'node:stream'
import type { ParkOrder, Resume } from '@berth/supervisor'

const answer = /^\{"resume":\{"base":(\d+),"start":(\d+),"end":(\d+),"fence":(\d+)\}\}\n$/
/** Longer than any answer. */
const MAX_ANSWER_BYTES = 200

/**
 * Asks a supervisor whether its sandbox may be ended and started again. It takes no other order until the stream ends.
 *
 * @param stream a new one of the sandbox; the caller ends it
 * @returns where another supervisor goes on; null if something would be lost, or the token is too low
 */
export async function orderPark(stream: Duplex, park: ParkOrder): Promise<Resume | null> {
  stream.write(`${JSON.stringify({ park })}\n`)
  let reply = ''
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    reply += String(chunk)
    if (reply.endsWith('\n') || reply.length > MAX_ANSWER_BYTES) break
  }
  const [base, start, end, fence] = answer.exec(reply)?.slice(1).map(Number) ?? []
  if (base === undefined || start === undefined || end === undefined || fence === undefined) return null
  return base <= start && start <= end && Number.isSafeInteger(end) ? { base, start, end, fence } : null
}
