import type { SessionListSearch } from '../routing/to.ts'
import { groupList, type ListData, type ListedSession } from './list-data.ts'

/** Returns the list with a new count of its rest. */
export function recounted(data: ListData, search: SessionListSearch, me: string, total: number): ListData {
  const rest = groupList(data, search, me).find(({ id }) => id === 'rest')?.sessions.length ?? 0
  const last = data.pages.at(-1)
  if (last === undefined) return data
  const counted = { ...last, beyond: { ...last.beyond, rest: Math.max(0, total - rest) } }
  return { ...data, pages: [...data.pages.slice(0, -1), counted] }
}

/** Returns the list with Sessions that it did not have, on its first page. */
export function withSessions(data: ListData, added: readonly ListedSession[]): ListData {
  const [first, ...others] = data.pages
  if (first === undefined || added.length === 0) return data
  const ids = new Set(added.map(({ session }) => session.id))
  const pages = [first, ...others].map(page => ({
    ...page,
    sessions: page.sessions.filter(({ session }) => !ids.has(session.id)),
  }))
  return {
    ...data,
    pages: pages.map((page, at) => (at === 0 ? { ...page, sessions: [...added, ...page.sessions] } : page)),
  }
}
