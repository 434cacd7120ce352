import type { Http2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import { DeadlineOver } from './deadline.ts'

/** The bounds of one line. Both sides have their own; a test makes them smaller. */
export interface LineBounds {
  /** Time between two looks at whether the other side is there. */
  readonly pingMs: number
  /** Longest wait for its answer to one. */
  readonly pongMs: number
  /** Longest value ahead of a call's bytes. */
  readonly valueBytes: number
  /** Longest wait for the value of a call, or for its answer if the call has no bound of its own. */
  readonly answerMs: number
  /** Calls at once. */
  readonly calls: number
}

/** Bounds for lines across a wide network. The value leaves room for the environment and the files of a script. */
export const lineBounds: LineBounds = {
  pingMs: 5_000,
  pongMs: 10_000,
  valueBytes: 8 * 1024 ** 2,
  answerMs: 10 * 60_000,
  calls: 8_192,
}

/** What one stream may send ahead of its reader: enough for 60 MiB a second over 30 milliseconds. */
export const STREAM_WINDOW = 2 * 1024 ** 2
/** All streams together, ahead of this process. Streams that nobody reads do not count, as their own window stops them. */
const LINE_WINDOW = 16 * 1024 ** 2
/** Megabytes that a line may hold in this process; past them new streams are refused. */
const MAX_MEMORY_MB = 512
const FRAME_BYTES = 64 * 1024

/** Returns the options of either side's session. */
export function sessionOptions({ calls }: LineBounds) {
  return {
    maxSessionMemory: MAX_MEMORY_MB,
    maxOutstandingPings: 4,
    maxHeaderListPairs: 32,
    settings: {
      enablePush: false,
      initialWindowSize: STREAM_WINDOW,
      maxFrameSize: FRAME_BYTES,
      maxConcurrentStreams: calls,
      maxHeaderListSize: 8 * 1024,
    },
  }
}

/** Ends a session with its socket. A server's socket stays half open after the other's end, and unread says nothing of it. */
export function bindTo(socket: Duplex, session: Http2Session): void {
  socket.once('end', () => socket.destroy())
  socket.once('close', () => session.destroy())
  socket.resume()
}

/** Lets a session receive at full speed. It must be connected. */
export function widen(session: Http2Session): void {
  if (!session.destroyed) session.setLocalWindowSize(LINE_WINDOW)
}

/**
 * Ends a session whose other side does not answer in time: a frozen host, or a cut without a word.
 * @returns stops it
 */
export function watch(session: Http2Session, { pingMs, pongMs }: LineBounds): () => void {
  let deadline: NodeJS.Timeout | undefined
  const ask = () => {
    if (session.destroyed || session.closed || deadline !== undefined) return
    deadline = setTimeout(() => session.destroy(new DeadlineOver(`no answer for ${pongMs} ms`)), pongMs)
    deadline.unref()
    const isSent = session.ping(error => {
      if (error === null) {
        clearTimeout(deadline)
        deadline = undefined
      }
    })
    if (!isSent) session.destroy(new Error('too many unanswered pings'))
  }
  const timer = setInterval(ask, pingMs)
  timer.unref()
  const stop = () => {
    clearInterval(timer)
    clearTimeout(deadline)
  }
  session.once('close', stop)
  return stop
}
