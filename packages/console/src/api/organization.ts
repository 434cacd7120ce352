/** Key of the tab's organization: two tabs may show two organizations. */
const key = 'berth.organization'

let current: string | null = null

/** Returns the organization that this tab's requests are for; null before the person is known. */
export function currentOrganization(): string | null {
  return current
}

/** Chooses among the person's organizations: the tab's, else the one of the sign-in, else the first. */
export function settleOrganization(ids: readonly string[], preferred: string | null): string | null {
  const remembered = sessionStorage.getItem(key)
  current = ids.find(id => id === remembered) ?? ids.find(id => id === preferred) ?? ids[0] ?? null
  return current
}

/** Remembers an organization for this tab. The page has to load again, because every answer belongs to the old one. */
export function rememberOrganization(id: string): void {
  sessionStorage.setItem(key, id)
}
