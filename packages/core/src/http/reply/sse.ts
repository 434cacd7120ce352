import type { ServerResponse } from 'node:http'
import type { OpenStreams } from '../connection/open-streams.ts'
import { endWithin, hasRoom } from './slow-reader.ts'

/** Limits of a stream's output. */
export interface StreamLimits {
  /** A comment goes out after this long without a frame; the contract promises one within 15 seconds. */
  readonly keepAliveMs: number
  /** A reader that takes nothing for this long counts as stalled. */
  readonly patienceMs: number
  /** A stalled reader is disconnected beyond this much unflushed output. */
  readonly maxUnflushedBytes: number
}

export const streamLimits: StreamLimits = { keepAliveMs: 10_000, patienceMs: 5_000, maxUnflushedBytes: 1_048_576 }

/** The reason a stream ended: its source ended, the client left, the client was too slow, or the server is stopping. */
export type StreamEnd = 'source' | 'client' | 'slow' | 'stopped'

export interface EventStream {
  readonly response: ServerResponse
  readonly headers: Readonly<Record<string, string | number | string[] | undefined>>
  /** Whole frames. The iterable must end once the response has closed. */
  readonly frames: AsyncIterable<string | Uint8Array>
  readonly open: OpenStreams
  readonly limits: StreamLimits
}

/**
 * Writes server-sent events until the source or the connection ends. The head and one comment go out at once, because
 * proxies cut silent streams. It asks for the next frame only when the last was taken. So a reader that catches up on a
 * long log is never dropped; a reader that takes nothing is, when its unflushed output passes the limit.
 * @throws the source's error; the response is then destroyed, so that no client takes the cut for a normal end
 */
export async function writeEventStream(stream: EventStream): Promise<StreamEnd> {
  const { response, limits } = stream
  let end: StreamEnd = 'client'
  const closed = new Promise<void>(resolve => response.once('close', resolve))
  if (response.destroyed) return end
  for (const [name, value] of Object.entries(stream.headers)) if (value !== undefined) response.setHeader(name, value)
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  response.write(': open\n\n')
  const keepAlive = setInterval(() => {
    if (!response.writableNeedDrain && !response.writableEnded) response.write(': keep-alive\n\n')
  }, limits.keepAliveMs)
  const forget = stream.open.add(retryMs => {
    end = 'stopped'
    endWithin(response, limits.patienceMs, `retry: ${retryMs}\n\n`)
  })
  const pump = async () => {
    const write = frameWriter(response, limits)
    for await (const frame of stream.frames) {
      if (response.destroyed || response.writableEnded) return
      keepAlive.refresh()
      if (!(await write(frame))) {
        end = 'slow'
        response.destroy()
        return
      }
    }
    if (response.destroyed || response.writableEnded) return
    end = 'source'
    endWithin(response, limits.patienceMs)
  }
  try {
    await Promise.race([pump(), closed])
    return end
  } catch (error) {
    response.destroy()
    throw error
  } finally {
    clearInterval(keepAlive)
    forget()
  }
}

/**
 * Returns a function that writes a frame and waits for room. It returns false if the reader is stalled and its unread
 * output exceeds the limit.
 */
function frameWriter(response: ServerResponse, limits: StreamLimits): (frame: string | Uint8Array) => Promise<boolean> {
  let stalled = false
  response.on('drain', () => {
    stalled = false
  })
  return async frame => {
    if (response.write(frame)) return true
    if (!stalled) stalled = !(await hasRoom(response, limits.patienceMs))
    return !stalled || response.writableLength <= limits.maxUnflushedBytes
  }
}
