import type { Socket } from 'node:net'
import { BOUND, PREPARED, type PrepareOrder, type WorkerMessage } from '@berth/supervisor'

/** Longest time for supervisor and agent of a sandbox to be ready. */
export const PREPARE_MS = 60_000
/** A supervisor that waits answers at once; longer than this, and making a sandbox is no slower. */
const BIND_MS = 1_000

/**
 * Makes the agent of a fresh sandbox ready. The supervisor ends with this connection until it is bound.
 * @throws Error if it does not become ready
 */
export async function prepareSupervisor(line: Socket, agent: PrepareOrder): Promise<void> {
  await answers(line, `${JSON.stringify({ prepare: agent } satisfies WorkerMessage)}\n`, PREPARED, PREPARE_MS)
}

/**
 * Lets a supervisor outlive the connection that it was prepared on.
 * @throws Error if it has ended, or does not answer
 */
export async function bindSupervisor(line: Socket): Promise<void> {
  await answers(line, 'bind\n', BOUND, BIND_MS)
  line.destroy()
}

/** Sends a line and waits for the answer, whole and alone. */
async function answers(socket: Socket, line: string, wanted: string, ms: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let received = ''
  const heard = (chunk: Buffer) => {
    received += chunk.toString('latin1')
    if (received === wanted) resolve()
    else if (!wanted.startsWith(received)) reject(new Error(`a supervisor answered ${received.slice(0, 100)}`))
  }
  const ended = () => reject(new Error('the supervisor of a sandbox without a lease ended'))
  const timer = setTimeout(() => reject(new Error('the supervisor of a sandbox without a lease is silent')), ms)
  // A supervisor that ends closes its side alone, where this one may stay open.
  socket.on('data', heard).once('end', ended).once('close', ended).write(line)
  try {
    await promise
  } finally {
    clearTimeout(timer)
    socket.off('data', heard).off('end', ended).off('close', ended)
  }
}
