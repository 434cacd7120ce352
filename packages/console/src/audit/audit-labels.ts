import type { AuditEntry } from '@berth/contract'
import { printable, printableLine } from '../ui/printable.ts'

const spaced = (text: string): string => text.replaceAll(/[._-]+/g, ' ')

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** Returns an action in words: `api_key.revoked` is `Api key revoked`. */
export const actionLabel = (action: string): string => capital(spaced(action)).replace(/^Api\b/, 'API')

const kinds: Readonly<Record<string, string>> = {
  person: 'Somebody who has left',
  app_installation: 'An installation',
  app: 'An app',
  operator: 'An operator',
  service: 'The service',
}

/** Returns who acted. Apps and people choose their names. */
export function actorName({ kind, id, name }: { kind: string; id: string | null; name: string | null }): string {
  return name === null ? (kinds[kind] ?? id ?? kind) : printableLine(name)
}

/** Returns the target of an action by its name; an id says nothing, and stands among the details. */
export function targetLabel({ target, targetName }: Pick<AuditEntry, 'target' | 'targetName'>): string {
  if (target === null) return ''
  const isId = /[ /][0-9a-f-]{32,36}$/i.test(target)
  return printableLine(targetName ?? (isId ? '' : target.replace(/^\w+[ /]/, '')))
}

/** Returns the details of an entry by name, as text. */
export function detailRows(details: AuditEntry['details']): readonly (readonly [name: string, value: string])[] {
  return Object.entries(details).map(([name, value]) => [
    spaced(name),
    printable(typeof value === 'string' ? value : JSON.stringify(value)),
  ])
}
