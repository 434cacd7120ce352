import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeFrame } from '../../line/frame.ts'
import { type CallHandlers, serveLine } from '../../line/serve-line.ts'
import { type PartHello, type PartName, partBounds, partSocketName } from '../part-names.ts'

/** Pauses between two dials: the host is in the same pod and may just be starting again, or it wants another process. */
const pauses = { least: 200, most: 5_000 }
/** A line that lasted this long was wanted. */
const STEADY_MS = 1_000

/**
 * Dials the host of this pod for ever, and answers its calls. Its key stays the same for the life of this process, so a
 * host that has started again knows it.
 * @param directory of the host's socket
 */
export async function dialHost(part: PartName, directory: string, handlers: CallHandlers): Promise<never> {
  const hello: PartHello = { part, key: randomBytes(32).toString('hex') }
  for (let pause = pauses.least; ; await sleep(pause)) {
    const socket = connect({ path: join(directory, partSocketName) })
    socket.on('error', () => undefined)
    try {
      await once(socket, 'connect')
      const began = performance.now()
      writeFrame(socket, hello)
      await serveLine(socket, handlers, partBounds).closed
      pause = performance.now() - began > STEADY_MS ? pauses.least : Math.min(pause * 2, pauses.most)
    } catch {
      // There is no host now.
      pause = pauses.least
    }
    socket.destroy()
  }
}
