/** The server's clock minus this machine's, from the answer that says it best. */
let offsetMs = 0
let known = false

/** Learns from a response's `Date` header, which has whole seconds; half of one is the expected error. */
export function observeServerTime(date: string | null, nowMs = Date.now()): void {
  const at = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(at)) return
  const offset = at + 500 - nowMs
  // Jitter below a second is the header's; only a first answer or a real difference counts.
  if (!known || Math.abs(offset - offsetMs) > 1_000) offsetMs = offset
  known = true
}

/** Returns the server's time in milliseconds since the epoch. Deadlines are the server's, so countdowns use this. */
export function serverNow(nowMs = Date.now()): number {
  return nowMs + offsetMs
}
