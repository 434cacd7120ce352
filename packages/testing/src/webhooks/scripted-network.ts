import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Network } from '@berth/platform/network/dial.ts'

/**
 * A network of names and addresses that the test gives. Every address leads to one port of loopback, so no packet goes
 * anywhere else.
 */
export class ScriptedNetwork implements Network {
  /** Addresses by name; a function is asked each time. */
  readonly names = new Map<string, readonly string[] | (() => readonly string[] | Promise<readonly string[]>)>()
  /** Ports of loopback by `address:port`. */
  readonly ports = new Map<string, number>()
  readonly lookups: string[] = []
  readonly dialled: string[] = []

  async lookUp(name: string): Promise<readonly string[]> {
    return this.#find(name)
  }

  async resolve(name: string, signal: AbortSignal): Promise<readonly string[]> {
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    return Promise.race([this.#find(name), promise])
  }

  async dial(address: string, port: number, signal: AbortSignal): Promise<Socket> {
    this.dialled.push(`${address}:${port}`)
    const to = this.ports.get(`${address}:${port}`)
    if (to === undefined) throw Object.assign(new Error(`nobody is at ${address}:${port}`), { code: 'ECONNREFUSED' })
    const socket = connect({ host: '127.0.0.1', port: to, allowHalfOpen: true, noDelay: true })
    await once(socket, 'connect', { signal })
    return socket
  }

  async #find(name: string): Promise<readonly string[]> {
    this.lookups.push(name)
    const found = this.names.get(name)
    if (found === undefined) throw Object.assign(new Error(`no such name: ${name}`), { code: 'ENOTFOUND' })
    return typeof found === 'function' ? found() : found
  }
}
