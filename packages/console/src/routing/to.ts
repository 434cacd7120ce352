/** The parts of a Session's work that the page shows beside its transcript. */
export const panels = ['changes', 'details'] as const

export type Panel = (typeof panels)[number]

/** The groups of the list, as its filter names them. */
export const stateFilters = ['needs-you', 'working', 'done'] as const

export interface SessionListSearch {
  readonly q?: string | undefined
  readonly state?: (typeof stateFilters)[number] | undefined
  readonly archived?: true | undefined
}

export interface SessionSearch {
  readonly panel?: Panel | undefined
  /** Sequence of an Event to show. */
  readonly event?: number | undefined
}

/** Every page of the console by name: links are made here alone, so that a path is written once. */
export const to = {
  sessions: (search: SessionListSearch = {}) => ({ to: '/sessions', search }) as const,
  newSession: () => ({ to: '/sessions/new' }) as const,
  session: (sessionId: string, search: SessionSearch = {}) =>
    ({ to: '/sessions/$sessionId', params: { sessionId }, search }) as const,
  settings: () => ({ to: '/settings' }) as const,
} as const
