import type { RuntimeCatalog } from '@berth/core/runtimes/catalog.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Says which agents a service on this machine could run; one that the configuration names has to be there. */
export function examineAgents(catalog: RuntimeCatalog, configured: readonly string[]): readonly Finding[] {
  const entries = catalog.ids.flatMap(id => catalog.find(id) ?? [])
  const reasons = entries.map(entry => ({ id: entry.id, reason: entry.lacks ?? entry.missing?.() ?? null }))
  const there = reasons.filter(({ reason }) => reason === null).map(({ id }) => id)
  const absent = reasons.filter(({ id, reason }) => reason !== null && configured.includes(id))
  const first = there.length === 0 ? 'none can run here' : there.join(', ')
  return [
    ok('agents', `${first}; more with \`berth runtimes install <agent>\``),
    ...absent.map(({ id, reason }) => warning('agents', `${id}: ${reason}`, 'berth runtimes list')),
  ]
}
