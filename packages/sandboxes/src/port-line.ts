import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import type { PortAnswer, PortOrder } from '@berth/supervisor/ports'

const MAX_ANSWER_BYTES = 4096
const NEWLINE = 0x0a

/** The supervisor did not answer in time: the sandbox stands still, or has gone. */
export class SandboxSilent extends Error {
  override readonly name = 'SandboxSilent'
}

/** Lists the ports on which programs of a sandbox listen. @throws SandboxSilent */
export async function listPorts(stream: Duplex, signal: AbortSignal): Promise<readonly number[]> {
  const answer = await order(stream, { list: true }, signal)
  stream.destroy()
  if (!('ports' in answer)) throw new SandboxSilent('not the answer of a supervisor')
  return answer.ports
}

/**
 * Connects to a port of a sandbox.
 * @returns the connection; null if nothing listens there
 * @throws SandboxSilent
 */
export async function dialPort(stream: Duplex, port: number, signal: AbortSignal): Promise<Duplex | null> {
  const answer = await order(stream, { dial: port }, signal)
  if ('dial' in answer && answer.dial === 'open') return stream
  stream.destroy()
  return null
}

async function order(stream: Duplex, port: PortOrder, signal: AbortSignal): Promise<PortAnswer> {
  const abort = () => stream.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    stream.write(`${JSON.stringify({ port })}\n`)
    return portAnswer(JSON.parse(await readLine(stream)))
  } catch (error) {
    stream.destroy()
    throw error instanceof SandboxSilent ? error : new SandboxSilent('the sandbox did not answer', { cause: error })
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** What the sandbox says is not to be trusted. */
function portAnswer(received: unknown): PortAnswer {
  if (typeof received !== 'object' || received === null) throw new SandboxSilent('not the answer of a supervisor')
  if ('ports' in received && !(Array.isArray(received.ports) && received.ports.every(Number.isSafeInteger))) {
    throw new SandboxSilent('not the ports of a supervisor')
  }
  return received as PortAnswer
}

/** Reads to the first newline and leaves what follows in the stream. */
async function readLine(stream: Duplex): Promise<string> {
  let seen = Buffer.alloc(0)
  for (;;) {
    const chunk: Buffer | null = stream.read()
    if (chunk === null) {
      if (stream.readableEnded || stream.destroyed) throw new SandboxSilent('the supervisor left')
      await Promise.race([once(stream, 'readable'), once(stream, 'end'), once(stream, 'close')])
      continue
    }
    seen = Buffer.concat([seen, chunk])
    const end = seen.indexOf(NEWLINE)
    if (end !== -1) {
      if (end + 1 < seen.length) stream.unshift(seen.subarray(end + 1))
      return seen.subarray(0, end).toString()
    }
    if (seen.length > MAX_ANSWER_BYTES) throw new SandboxSilent('the supervisor does not answer with a line')
  }
}
