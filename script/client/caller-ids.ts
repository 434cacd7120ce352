/**
 * Path parameters that a caller chooses, by operation. The client chooses one if the caller leaves it out, once for all
 * attempts of the call.
 */
export const callerIds: Readonly<Record<string, string>> = {
  createSession: 'sessionId',
  createOrganizationSession: 'sessionId',
  submitTurn: 'turnId',
  createPublication: 'publicationId',
  createMerge: 'mergeId',
  putEnvironment: 'environmentId',
  putPushSubscription: 'subscriptionId',
  putTrigger: 'triggerId',
}

/** Members of bodies that tell a repeated request from a new one, by operation. */
export const callerKeys: Readonly<Record<string, string>> = {
  decideInteraction: 'idempotencyKey',
  forkSession: 'id',
}

/**
 * POST requests that may be sent twice, because a second one finds the work done, by the id of its body if it makes
 * something. Every other method of the contract may be repeated.
 */
export const repeatablePosts: ReadonlySet<string> = new Set([
  'cancelRun',
  'countContentTokens',
  'countMessageTokens',
  'exchangeEndUserToken',
  'exchangeInstallationToken',
  'forkSession',
  'readInstallationIntent',
  'restoreEnvironmentRevision',
  'unarchiveEnvironment',
])
