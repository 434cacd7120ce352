/** Formats a countdown: `4:05`, `1:02:09`; never below zero. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const two = (value: number) => String(value).padStart(2, '0')
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** Returns the beginning of a text, and never half of a character. */
export const beginningOf = (text: string, characters: number): string =>
  text.length <= characters ? text : [...text.slice(0, 2 * characters)].slice(0, characters).join('')

/** Returns text as a code span of Markdown, in which it stays the same. */
export function codeSpan(text: string): string {
  const runs = text.match(/`+/g) ?? []
  const fence = '`'.repeat(1 + Math.max(0, ...runs.map(run => run.length)))
  return runs.length === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`
}

/** Formats US dollars to the cent, so that amounts above each other compare. */
export function dollars(usd: number): string {
  if (usd === 0) return '$0.00'
  if (usd < 0.01) return '<$0.01'
  return `$${usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`
}

/** Formats how long ago something was: `now`, `4 min`, `3 h`, `2 d`, then the date. */
export function ago(atMs: number, nowMs: number): string {
  const minutes = Math.floor((nowMs - atMs) / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} min`
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`
  if (minutes < 7 * 24 * 60) return `${Math.floor(minutes / (24 * 60))} d`
  return new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(atMs)
}

/** Returns a count with its noun. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`
}

/** Returns a time of today as a clock shows it here. */
export const clockTime = (at: string): string =>
  new Date(at).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
