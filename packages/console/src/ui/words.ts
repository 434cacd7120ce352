/** Formats a duration: `840 ms`, `12.4 s`, `3 min 5 s`, `10 min`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(ms / 1000)
  const [h, min, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  if (h === 0) return s === 0 ? `${min} min` : `${min} min ${s} s`
  return min === 0 ? `${h} h` : `${h} h ${min} min`
}

/** Formats a countdown: `4:05`, `1:02:09`; never below zero. */
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  const two = (value: number) => String(value).padStart(2, '0')
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** Formats a size: `812 bytes`, `4.2 KiB`, `1.0 MiB`. */
export function bytes(count: number): string {
  if (count < 1024) return `${count} ${count === 1 ? 'byte' : 'bytes'}`
  if (count < 1024 ** 2) return `${(count / 1024).toFixed(1)} KiB`
  if (count < 1024 ** 3) return `${(count / 1024 ** 2).toFixed(1)} MiB`
  return `${(count / 1024 ** 3).toFixed(1)} GiB`
}

/** Formats US dollars: cents from a dollar on, more digits below. */
export function dollars(usd: number): string {
  if (usd === 0) return '$0.00'
  if (usd < 0.01) return `$${usd.toFixed(4)}`
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
