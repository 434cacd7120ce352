import type { Event } from '@berth/client'

/** Returns a text of an Event's data, or ''. The set of fields is open, so any field may be missing or odd. */
export function textOf(event: Event, name: string): string {
  const value = event.data[name]
  return typeof value === 'string' ? value : ''
}

/** Returns a number of an Event's data, or null. */
export function numberOf(event: Event, name: string): number | null {
  const value = event.data[name]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

/** Returns a Run's cost for display; '' if it is unknown. */
export function costText(event: Event): string {
  const cost = numberOf(event, 'costUsd')
  if (cost === null) return ''
  return `${event.data.costComplete === false ? 'at least ' : ''}$${cost.toFixed(cost < 1 ? 4 : 2)}`
}

/** Formats a duration for display. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`
}

/** Returns the JSON result that a Run ended with, alone in a list; an empty list if it has none. */
export function outputOf({ data }: Event): readonly unknown[] {
  const { result } = data
  return typeof result === 'object' && result !== null && 'output' in result ? [result.output] : []
}
