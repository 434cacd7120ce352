import type { SessionState } from '@berth/contract'

/** Sessions come back before anybody begins to work. */
const morning = 9
const monday = 1

/** Returns until when a Session can be snoozed, in this browser's time zone. */
export function snoozeChoices(now: Date): readonly (readonly [label: string, snoozed: { readonly until?: string }])[] {
  const at = (days: number) => {
    const day = new Date(now)
    day.setDate(day.getDate() + days)
    day.setHours(morning, 0, 0, 0)
    return { until: day.toISOString() }
  }
  return [
    ['Until tomorrow', at(1)],
    ['Until next week', at(((monday + 6 - now.getDay()) % 7) + 1)],
    ['Until it needs me', {}],
  ]
}

/** Says how long a Session is snoozed. */
export function snoozeText({ until }: NonNullable<SessionState['snoozed']>): string {
  if (until === undefined) return 'Until it needs you'
  return `Until ${new Date(until).toLocaleString(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' })}`
}
