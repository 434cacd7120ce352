import type { StepProgress } from '../follow-previews.ts'

/** Formats a duration: `840 ms`, `12.4 s`, `3 min 5 s`, `10 min`, `2 h 10 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(ms / 1000)
  const [h, min, s] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  if (h === 0) return s === 0 ? `${min} min` : `${min} min ${s} s`
  return min === 0 ? `${h} h` : `${h} h ${min} min`
}

/** Formats a time that goes on, in whole seconds: `7 s`, `3 min 5 s`. */
export const formatElapsed = (ms: number): string =>
  ms < 60_000 ? `${Math.max(0, Math.floor(ms / 1000))} s` : formatDuration(ms)

/** Formats a size: `812 bytes`, `4.2 KiB`, `1.0 MiB`. */
export function formatBytes(count: number): string {
  if (count < 1024) return `${count} ${count === 1 ? 'byte' : 'bytes'}`
  if (count < 1024 ** 2) return `${(count / 1024).toFixed(1)} KiB`
  if (count < 1024 ** 3) return `${(count / 1024 ** 2).toFixed(1)} MiB`
  return `${(count / 1024 ** 3).toFixed(1)} GiB`
}

/** Formats the progress of a step: `43% of 1,000 objects, 1.2 MiB`, `20% of 40.0 MiB`, `8.0 MiB`. */
export function formatProgress({ unit, done, total, bytes }: StepProgress): string {
  const amount = (count: number) => (unit === 'bytes' ? formatBytes(count) : `${count.toLocaleString('en')} ${unit}`)
  const share =
    total === undefined ? amount(done) : `${Math.floor((100 * done) / Math.max(1, total))}% of ${amount(total)}`
  return bytes === undefined ? share : `${share}, ${formatBytes(bytes)}`
}
