import type { EgressBatch } from '@berth/core/sessions/egress/record-egress.ts'
import type { HostTally, RefusalTally } from '@berth/core/sessions/egress/tally.ts'
import type { EgressTarget, RefusalCode } from '@berth/sandboxes/driver.ts'

/** Refused targets that the log names in a minute; further ones are counted. */
const PER_MINUTE = 20
const MINUTE_MS = 60_000
/**
 * Hosts that are told apart between two writes, and as many more that got a secret. A program can make up any number, also of
 * names below a secret's `*.name`.
 */
const MOST_HOSTS = 1000
/** Longest name of a host; whatever is longer is none. */
const HOST_CHARACTERS = 253
/** A longer reason is left out whole: it is masked only when it is written, and a cut before that could halve a secret. */
const REASON_CHARACTERS = 8 * 1024

/** Why a connection was refused. */
export interface Refusal {
  readonly code: RefusalCode
  /** What the program was answered. */
  readonly reason: string
}

type Tally = { -readonly [Key in keyof HostTally]: HostTally[Key] } & { secrets: Record<string, number> }

/**
 * Counts what one sandbox reached and was refused, between two writes. It holds no path, no query and no value.
 * Refusals of one target for one reason are one entry of a write; at most twenty a minute name their target.
 */
export class EgressRecorder {
  readonly #nowMs: () => number
  #hosts = new Map<string, Tally>()
  #refusals = new Map<string, { -readonly [Key in keyof RefusalTally]: RefusalTally[Key] }>()
  #minuteBegan = Number.NEGATIVE_INFINITY
  #named = 0
  #further = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** True if something is to be written. */
  get isPending(): boolean {
    return this.#hosts.size > 0 || this.#refusals.size > 0 || this.#further > 0
  }

  reached(target: EgressTarget): void {
    this.#tally(target).reached += 1
  }

  bytes({ sent, received, ...target }: EgressTarget & { readonly sent: number; readonly received: number }): void {
    const tally = this.#tally(target)
    tally.sentBytes += sent
    tally.receivedBytes += received
  }

  used({ name, ...target }: EgressTarget & { readonly name: string }): void {
    const { secrets } = this.#tally(target, true)
    secrets[name] = (secrets[name] ?? 0) + 1
  }

  refused(target: EgressTarget, { code: reason, reason: given }: Refusal): void {
    const message = given.length > REASON_CHARACTERS ? '' : given
    const tally = this.#tally(target)
    tally.refused += 1
    tally.lastReason = reason
    const key = `${tally.host}:${tally.port} ${reason}`
    const known = this.#refusals.get(key)
    if (known !== undefined) {
      known.count += 1
      return
    }
    const now = this.#nowMs()
    if (now - this.#minuteBegan >= MINUTE_MS) {
      this.#minuteBegan = now
      this.#named = 0
    }
    this.#named += 1
    if (this.#named > PER_MINUTE) this.#further += 1
    else {
      const target = tally.host === '' ? null : { host: tally.host, port: tally.port }
      this.#refusals.set(key, { target, reason, message, count: 1 })
    }
  }

  /**
   * Returns what was counted since the last call, for one write.
   * @param isLast nothing follows, so the count of further refusals does not wait for the end of its minute
   */
  take(isLast = false): EgressBatch {
    const refusals: RefusalTally[] = [...this.#refusals.values()]
    if (this.#further > 0 && (isLast || this.#nowMs() - this.#minuteBegan >= MINUTE_MS)) {
      refusals.push({ target: null, reason: 'further', message: '', count: this.#further })
      this.#further = 0
    }
    const hosts = [...this.#hosts.values()]
    this.#hosts = new Map()
    this.#refusals = new Map()
    return { hosts, refusals }
  }

  /** Takes back what could not be written. */
  giveBack({ hosts, refusals }: EgressBatch): void {
    for (const host of hosts) {
      const tally = this.#tally(host, Object.keys(host.secrets).length > 0)
      tally.reached += host.reached
      tally.refused += host.refused
      tally.sentBytes += host.sentBytes
      tally.receivedBytes += host.receivedBytes
      tally.lastReason ??= host.lastReason
      for (const [name, uses] of Object.entries(host.secrets)) tally.secrets[name] = (tally.secrets[name] ?? 0) + uses
    }
    for (const refusal of refusals) {
      const { target, reason, count } = refusal
      if (reason === 'further') this.#further += count
      else {
        const key = `${target?.host ?? ''}:${target?.port ?? 0} ${reason}`
        const known = this.#refusals.get(key)
        if (known === undefined) this.#refusals.set(key, { ...refusal })
        else known.count += count
      }
    }
  }

  /** @param isUse a host that got a secret has room of its own: the audit log is to name it */
  #tally({ host: given, port: givenPort }: EgressTarget, isUse = false): Tally {
    const host = given.length > HOST_CHARACTERS ? '' : given
    const key = `${host}:${givenPort}`
    const isKnown = host !== '' && (this.#hosts.has(key) || this.#hosts.size < MOST_HOSTS * (isUse ? 2 : 1))
    const [name, port] = isKnown ? [host, givenPort] : ['', 0]
    const found = this.#hosts.get(isKnown ? key : ':0')
    if (found !== undefined) return found
    const made: Tally = {
      ...{ host: name, port, reached: 0, refused: 0, sentBytes: 0, receivedBytes: 0 },
      lastReason: null,
      // A secret may be called `constructor` or `__proto__`.
      secrets: Object.create(null),
    }
    this.#hosts.set(`${name}:${port}`, made)
    return made
  }
}
