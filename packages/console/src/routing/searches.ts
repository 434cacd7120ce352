import { panels, type SessionListSearch, type SessionSearch, stateFilters } from './to.ts'

type Unread = Readonly<Record<string, unknown>>

/** Reads the filters of the list. Anything else in the URL is dropped, never an error: people edit URLs. */
export function readListSearch({ q, state, archived }: Unread): SessionListSearch {
  return {
    // The router parses numbers, and people search for them.
    ...((typeof q === 'string' && q !== '') || typeof q === 'number' ? { q: String(q) } : {}),
    ...(stateFilters.some(known => known === state) ? { state: state as SessionListSearch['state'] } : {}),
    ...(archived === true ? { archived } : {}),
  }
}

/** Reads what a Session's page shows beside the transcript. */
export function readSessionSearch({ panel, event }: Unread): SessionSearch {
  return {
    ...(panels.some(known => known === panel) ? { panel: panel as SessionSearch['panel'] } : {}),
    ...(Number.isSafeInteger(event) && Number(event) > 0 ? { event: Number(event) } : {}),
  }
}
