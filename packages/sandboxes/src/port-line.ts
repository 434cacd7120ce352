import { addAbortListener } from 'node:events'
import type { Duplex } from 'node:stream'
import type { PortAnswer, PortOrder } from '@berth/supervisor/ports'
import { readLine } from './read-line.ts'

const MAX_ANSWER_BYTES = 4096

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
  using _listener = addAbortListener(signal, () => stream.destroy())
  try {
    signal.throwIfAborted()
    stream.write(`${JSON.stringify({ port })}\n`)
    return portAnswer(JSON.parse(await readLine(stream, MAX_ANSWER_BYTES)))
  } catch (error) {
    stream.destroy()
    throw error instanceof SandboxSilent ? error : new SandboxSilent('the sandbox did not answer', { cause: error })
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
