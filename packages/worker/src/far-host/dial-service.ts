import { addAbortListener } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { HostAwayError } from '@berth/sandboxes/line/line-error.ts'
import { type CallHandlers, type ServedLine, serveLine } from '@berth/sandboxes/line/serve-line.ts'
import { dialLine, LineRefused } from '@berth/sandboxes/line/upgrade.ts'
import type { HostMemory } from './host-memory.ts'

/** What a host says when it dials. */
export interface HostSelf {
  readonly id: string
  /** Asked for each dial: kubelet replaces the token of a pod. */
  readonly token: () => string
  readonly capacity: number
  /** Undefined: the one that its token is for. */
  readonly pool: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly release: string
  readonly driver: string
}

export interface DialOptions {
  readonly url: URL
  readonly self: HostSelf
  readonly memory: HostMemory
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void }
  /** Shortest and longest pause between two dials; a test makes them smaller. */
  readonly pauseMs?: { readonly least: number; readonly most: number }
}

/** The service refuses this host for good: another dial would be refused as well. */
export class HostRefused extends Error {
  override readonly name = 'HostRefused'
}

const DIAL_MS = 15_000
const HEARD_MS = 10_000
/** Longest wait for the calls under way when this host stops. */
const LEAVE_MS = 5_000
const pauses = { least: 250, most: 30_000 }
/** Refusals that no other dial mends: the token, or the release. */
const final: ReadonlySet<number> = new Set([400, 401, 403, 404, 409, 426])
/** A line that lasted this long was a good one, and the next dial need not wait. */
const STEADY_MS = 10_000

/** The line to the service, whichever it is now. */
export class ServiceLine {
  readonly #options: DialOptions
  #line: ServedLine | null = null
  readonly #waiting = new Set<() => void>()

  constructor(options: DialOptions) {
    this.#options = options
  }

  get isConnected(): boolean {
    return this.#line?.isOpen === true
  }

  /** Opens a stream to the worker, and waits for a line if there is none. */
  readonly callBack = async (message: unknown, signal: AbortSignal): Promise<Duplex> => {
    for (;;) {
      signal.throwIfAborted()
      if (this.#line?.isOpen === true) return await this.#line.callBack(message, signal)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const abort = () => reject(signal.reason)
      this.#waiting.add(resolve)
      using _listener = addAbortListener(signal, abort)
      try {
        await promise
      } finally {
        this.#waiting.delete(resolve)
      }
    }
  }

  /**
   * Dials until the signal aborts, and serves each line. It dials again as soon as one ends, with growing pauses while none
   * lasts.
   * @throws HostRefused
   */
  async run(handlers: CallHandlers, stopping: AbortSignal): Promise<void> {
    const { log, pauseMs = pauses } = this.#options
    let pause = pauseMs.least
    while (!stopping.aborted) {
      const began = performance.now()
      try {
        await this.#serveOne(handlers, stopping)
      } catch (error) {
        if (stopping.aborted) return
        if (error instanceof HostRefused) throw error
        if (error instanceof LineRefused && final.has(error.status)) {
          throw new HostRefused(`the service refuses this host: ${error.message}`, { cause: error })
        }
        log.warn({ err: error }, 'the service cannot be reached; dialling again')
      }
      pause = performance.now() - began > STEADY_MS ? pauseMs.least : Math.min(pause * 2, pauseMs.most)
      // Hosts that lost one worker together must not come back together.
      await sleep(pause * (0.5 + Math.random()), undefined, { signal: stopping }).catch(() => undefined)
    }
  }

  async #serveOne(handlers: CallHandlers, stopping: AbortSignal): Promise<void> {
    const { url, self, memory, log } = this.#options
    const inTime = AbortSignal.any([stopping, AbortSignal.timeout(DIAL_MS)])
    const { socket, headers } = await dialLine(url, headersOf(self), inTime)
    try {
      memory.heard(Date.now(), connectionOf(headers, memory))
    } catch (error) {
      socket.destroy()
      throw error
    }
    const { epoch } = memory
    const line = serveLine(socket, handlers)
    this.#line = line
    for (const next of this.#waiting) next()
    log.info({ epoch }, 'connected to the service')
    const leave = () => {
      line.goAway()
      // Streams to supervisors last as long as their Runs. Workers open them again on the next line.
      setTimeout(() => line.destroy(), LEAVE_MS).unref()
    }
    using _listener = addAbortListener(stopping, leave)
    const heard = setInterval(() => memory.stillHeard(Date.now()), HEARD_MS)
    try {
      const fault = await line.closed
      if (!stopping.aborted) log.warn({ epoch, err: fault }, 'the line to the service ended')
    } finally {
      clearInterval(heard)
    }
  }
}

/**
 * Judges the service's answer to a dial. Connections of one admission are numbered upwards, so an older one is left; another
 * token on the same data directory begins a new count, but takes over no sandboxes.
 * @throws HostRefused if the data directory has sandboxes of another admission
 * @throws HostAwayError if the service has no number, or an older one
 */
function connectionOf(headers: IncomingHttpHeaders, memory: HostMemory) {
  const [epoch, leaseMaxMs] = [Number(headers['berth-epoch']), Number(headers['berth-lease-max-ms'])]
  const header = headers['berth-admission']
  const admission = typeof header === 'string' ? header : memory.admission
  const isOther = memory.admission !== null && memory.admission !== admission
  if (isOther && memory.leases.length > 0) {
    throw new HostRefused(
      `the token is for the host ${admission}, but this data directory has sandboxes of the host ${memory.admission}: drain that one and dial with its token until they are gone, or give this token a data directory of its own`,
    )
  }
  if (!Number.isSafeInteger(epoch) || !(leaseMaxMs > 0) || (!isOther && epoch <= memory.epoch)) {
    throw new HostAwayError(`a connection ${epoch} that is not newer than ${memory.epoch}`)
  }
  return { admission, epoch, leaseMaxMs }
}

function headersOf({ id, token, capacity, pool, labels, release, driver }: HostSelf): Record<string, string> {
  return {
    Authorization: `Bearer ${token()}`,
    'Berth-Host-Id': id,
    'Berth-Host-Capacity': String(capacity),
    ...(pool !== undefined && { 'Berth-Host-Pool': pool }),
    'Berth-Host-Labels': encodeURIComponent(JSON.stringify(labels)),
    'Berth-Host-Release': release,
    'Berth-Host-Driver': driver,
  }
}
