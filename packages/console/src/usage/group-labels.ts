import type { UsageGroup, UsageGrouping } from '@berth/contract'
import { printableLine } from '../ui/printable.ts'

export const groupingLabels: Readonly<Record<UsageGrouping, string>> = {
  day: 'Day',
  model: 'Model',
  person: 'Person',
  repository: 'Repository',
  trigger: 'Trigger',
  session: 'Session',
}

const lost: Readonly<Record<string, string>> = {
  person: 'Somebody who has left',
  installation: 'An integration',
  session: 'A Session',
  repository: 'A repository',
  trigger: 'A trigger that is deleted',
}

/** The group of requests that lack the report's dimension. */
const without: Readonly<Record<UsageGrouping, string>> = {
  day: '',
  model: '',
  person: 'Nobody in particular',
  repository: 'Without a repository',
  trigger: 'Without a trigger',
  session: 'Outside Sessions',
}

/** Returns the page's name of a group. Agents choose titles of Sessions. */
export function groupName({ kind, id, name }: UsageGroup, by: UsageGrouping): string {
  if (kind === 'none') return without[by]
  if (kind === 'day' && id !== null) return dayName(id)
  return name === null ? (lost[kind] ?? id ?? '') : printableLine(name)
}

/** Formats a day: `Mon 2 Mar`. */
export function dayName(day: string): string {
  const format = { weekday: 'short', day: 'numeric', month: 'short', timeZone: 'UTC' } as const
  return new Intl.DateTimeFormat('en-GB', format).format(Date.parse(day)).replace(',', '')
}
