/** The service's clock, as its answers tell it: deadlines are the service's, so countdowns use it. */
export class ServiceClock {
  #aheadMs = 0
  #isKnown = false

  /** Learns from a response's `Date` header, which has whole seconds; half of one is the expected error. */
  observe(date: string | null, nowMs = Date.now()): void {
    const at = Date.parse(date ?? '')
    if (Number.isNaN(at)) return
    const aheadMs = at + 500 - nowMs
    // Differences below a second are the header's.
    if (!this.#isKnown || Math.abs(aheadMs - this.#aheadMs) > 1_000) this.#aheadMs = aheadMs
    this.#isKnown = true
  }

  /** Milliseconds since the epoch. */
  now(nowMs = Date.now()): number {
    return nowMs + this.#aheadMs
  }
}

/** Formats the time that is left: `4:05`, `1:02:09`; never below zero. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const two = (value: number) => String(value).padStart(2, '0')
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}
