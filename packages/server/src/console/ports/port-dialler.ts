import type { Duplex } from 'node:stream'
import { Semaphore } from '@berth/platform/kit/semaphore.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import type { SupervisorDoor } from '@berth/sandboxes/leases/supervisor-door.ts'
import { dialPort, SandboxSilent } from '@berth/sandboxes/port-line.ts'
import { ANSWER_MS } from './preview-place.ts'

/** A sandbox that did not answer is asked no more for this long. */
const SILENT_MS = 2_000

/** Why there is no connection: nothing listens, the sandbox stands still or has gone, or the browser left. */
export type NoDial = 'refused' | 'at_rest' | 'gone' | 'left'

/**
 * Connects to ports of sandboxes. Each sandbox has one connection at most that waits for its supervisor: the others wait
 * here, and learn from the first that the sandbox stands still.
 */
export class PortDialler {
  readonly #turns = new Map<string, { readonly turn: Semaphore; users: number }>()
  readonly #silentUntil = new Map<string, number>()

  /**
   * @param door the way to the sandboxes of its host
   * @param left aborts when nobody wants the connection any more
   */
  async dial(door: SupervisorDoor, leaseId: string, port: number, left: AbortSignal): Promise<Duplex | NoDial> {
    const queue = this.#turns.get(leaseId) ?? { turn: new Semaphore(1), users: 0 }
    this.#turns.set(leaseId, queue)
    queue.users += 1
    try {
      using _turn = await queue.turn.take(left)
      return await this.#dial(door, leaseId, port)
    } catch (error) {
      if (left.aborted) return 'left'
      throw error
    } finally {
      queue.users -= 1
      if (queue.users === 0) this.#turns.delete(leaseId)
    }
  }

  async #dial(door: SupervisorDoor, leaseId: string, port: number): Promise<Duplex | NoDial> {
    if ((this.#silentUntil.get(leaseId) ?? 0) > performance.now()) return 'at_rest'
    this.#silentUntil.delete(leaseId)
    // A frozen supervisor accepts nothing, and waiting connections would fill its queue.
    if (await door.isStopped(leaseId)) return 'at_rest'
    const within = AbortSignal.timeout(ANSWER_MS)
    try {
      const stream = await dialPort(await door.attach(leaseId, within), port, within)
      return stream ?? 'refused'
    } catch (error) {
      if (error instanceof SandboxGoneError) return 'gone'
      if (!(error instanceof SandboxSilent || within.aborted)) throw error
      this.#noteSilence(leaseId)
      return 'at_rest'
    }
  }

  #noteSilence(leaseId: string): void {
    const now = performance.now()
    for (const [each, until] of this.#silentUntil) if (until <= now) this.#silentUntil.delete(each)
    this.#silentUntil.set(leaseId, now + SILENT_MS)
  }
}
