const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
/** A time that is further away is a date. */
const farthest = 30 * day

/**
 * Says how far away a time is: `5 min ago`, `in 3 h`, `2026-01-31`.
 * @param text ISO 8601 in UTC, as the API writes it
 * @param now milliseconds since the epoch
 * @returns null if the text is no such time
 */
export function timeText(text: string, now: number): string | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(text)) return null
  const ms = Date.parse(text) - now
  const away = Math.abs(ms)
  if (Number.isNaN(away)) return null
  if (away < minute) return ms > 0 ? 'in a moment' : 'just now'
  if (away >= farthest) return text.slice(0, 10)
  const [size, unit] = away < hour ? [minute, 'min'] : away < day ? [hour, 'h'] : [day, 'd']
  const span = `${Math.floor(away / size)} ${unit}`
  return ms > 0 ? `in ${span}` : `${span} ago`
}
