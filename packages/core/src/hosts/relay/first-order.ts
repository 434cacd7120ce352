import { Transform, type TransformCallback } from 'node:stream'

/** Longest order. The longest that an API process sends has a few hundred bytes. */
const MAX_ORDER_BYTES = 4 * 1024
const NEWLINE = 0x0a

/** The first line of a connection is no order that may pass. */
export class OrderRefused extends Error {
  override readonly name = 'OrderRefused'
}

/**
 * Holds the bytes for a supervisor back until the first line is a whole one that attaches to a terminal, ends one, or is about a
 * port. Such an order takes its connection over, so a supervisor reads no other behind it. Everything else that it does (agents,
 * fences, stops, the start of a terminal) belongs to the worker of the host. Another first line fails with OrderRefused.
 */
export class FirstOrder extends Transform {
  #held: Buffer | null = Buffer.alloc(0)

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    try {
      done(null, this.#held === null ? chunk : this.#check(this.#held, chunk))
    } catch (error) {
      done(error as Error)
    }
  }

  /** @returns what may go on by now @throws OrderRefused */
  #check(before: Buffer, chunk: Buffer): Buffer {
    const held = Buffer.concat([before, chunk])
    const end = held.indexOf(NEWLINE)
    if ((end === -1 ? held.length : end) > MAX_ORDER_BYTES) throw new OrderRefused('the order is too long')
    if (end === -1) {
      this.#held = held
      return Buffer.alloc(0)
    }
    if (!mayPass(held.toString('utf8', 0, end))) throw new OrderRefused('no order of terminals and ports')
    this.#held = null
    return held
  }

  override _flush(done: TransformCallback): void {
    done(this.#held === null || this.#held.length === 0 ? null : new OrderRefused('the order is not whole'))
  }
}

/** A supervisor looks for the members that it knows in an order of its own, so an order that passes has one member alone. */
function mayPass(line: string): boolean {
  try {
    const order: unknown = JSON.parse(line)
    if (typeof order !== 'object' || order === null || Object.keys(order).length !== 1) return false
    if ('port' in order) return true
    return 'terminal' in order && Object(order.terminal).start === undefined
  } catch {
    return false
  }
}
