// Reads a Session's stream in one of three ways, as often as its parent asks, and counts its own processor time. Started
// by bench/follower.ts, so that a reader's process holds nothing but its own reader.
import { createClient, followSession } from '../../packages/client/src/index.ts'

/** A bare fetch that takes the bytes, one that splits frames and parses each, and the follower. */
export const readerKinds = ['bytes', 'json', 'sdk'] as const
export type ReaderKind = (typeof readerKinds)[number]

export interface ReadOrder {
  readonly url: string
  readonly apiKey: string
  readonly sessionId: string
  readonly after: number
  readonly until: number
}

/** Processor time of one read, in ms. */
export interface ReadCost {
  /** Until the first Event, or the first bytes of one. */
  readonly opening: number
  /** From there to the last. */
  readonly reading: number
}

type Reader = (order: ReadOrder, begin: () => void) => Promise<void>

const readers: Readonly<Record<ReaderKind, Reader>> = {
  async bytes(order, begin) {
    const last = `id: ${order.until}\n`
    let isFirst = true
    for await (const chunk of await openBare(order)) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
      if (isFirst && bytes[0] === 0x69) {
        begin()
        isFirst = false
      }
      if (bytes.lastIndexOf(last) !== -1) return
    }
  },
  async json(order, begin) {
    const decoder = new TextDecoder()
    let rest = ''
    let isFirst = true
    for await (const chunk of await openBare(order)) {
      const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        const at = frame.indexOf('data: ')
        if (at === -1) continue
        const event = JSON.parse(frame.slice(at + 6))
        if (isFirst) {
          begin()
          isFirst = false
        }
        if (event.sequence === order.until) return
      }
    }
  },
  async sdk({ url, apiKey, sessionId, after, until }, begin) {
    const client = createClient({ baseUrl: url, credential: apiKey })
    let isFirst = true
    for await (const event of followSession({ client, sessionId, after })) {
      if (isFirst) {
        begin()
        isFirst = false
      }
      if (event.sequence === until) return
    }
  },
}

async function openBare({ url, apiKey, sessionId, after }: ReadOrder): Promise<AsyncIterable<Uint8Array>> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const answer = await fetch(`${url}/v1/sessions/${sessionId}/events/stream?after=${after}`, { headers })
  if (!answer.ok || answer.body === null) throw new Error(`the stream answered ${answer.status}`)
  return answer.body
}

/** Milliseconds of processor time since the process began. */
function usedMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const kind = readerKinds.find(each => each === process.argv[2])
if (kind !== undefined && process.send !== undefined) {
  process.on('message', async (order: ReadOrder) => {
    const start = usedMs()
    let begun = start
    await readers[kind](order, () => {
      begun = usedMs()
    })
    const end = usedMs()
    process.send?.({ opening: begun - start, reading: end - begun } satisfies ReadCost)
  })
}
