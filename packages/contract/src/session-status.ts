/** The words for the state of a Session, the same on every surface: `ready_to_review` reads *Ready to review*. */
export const sessionStatuses = [
  'needs_you',
  'working',
  'failed',
  'ready_to_review',
  'pull_request_open',
  'merged',
  'stopped',
  'done',
] as const

export type SessionStatus = (typeof sessionStatuses)[number]

/**
 * The rule: the first fact that is true of a Session decides about its status; if none is, it is `done`.
 * A Run that failed or was stopped counts until a pull request is published or merged after it.
 */
export const statusRule = [
  { fact: 'asks', status: 'needs_you' },
  { fact: 'lostWork', status: 'needs_you' },
  { fact: 'works', status: 'working' },
  { fact: 'failed', status: 'failed' },
  { fact: 'stopped', status: 'stopped' },
  { fact: 'hasUnpublishedChanges', status: 'ready_to_review' },
  { fact: 'isMerged', status: 'merged' },
  { fact: 'hasPullRequest', status: 'pull_request_open' },
] as const satisfies readonly { readonly fact: string; readonly status: SessionStatus }[]

export type StatusFact = (typeof statusRule)[number]['fact']
