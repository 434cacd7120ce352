import type { CallOptions } from './call-options.ts'
import type {
  CreateSession,
  DecideInteraction,
  DecisionEnvelope,
  Discovery,
  EventPage,
  FenceEnvelope,
  ForkSession,
  Identity,
  InteractionList,
  Run,
  RuntimeList,
  Session,
  SessionPage,
  SubmitTurn,
  TurnAdmission,
  TurnPage,
  UpdateSession,
} from './generated/types.ts'
import type { ApiRequest, Transport } from './transport.ts'

/** Page and filter of the Session list. */
export interface SessionQuery {
  readonly limit?: number
  readonly cursor?: string
  /** Absent: live Sessions; `true`: both; `only`: archived ones. */
  readonly archived?: 'true' | 'only'
  readonly 'origin.objectType'?: string
  readonly 'origin.objectId'?: string
  readonly 'origin.tenantKey'?: string
}

/** Page of a list that is read forward from an exclusive cursor. */
export interface AfterQuery {
  readonly after?: number
  readonly limit?: number
}

export interface SessionOperations {
  /** Lists Sessions, most recently changed first. Only `hasMore` says whether to continue with `nextCursor`. */
  list(query?: SessionQuery, options?: CallOptions): Promise<SessionPage>
  get(sessionId: string, options?: CallOptions): Promise<{ readonly session: Session }>
  /** Creates a Session under an id that the caller chooses; `created` is false for an exact replay. */
  create(
    sessionId: string,
    body: CreateSession,
    options?: CallOptions,
  ): Promise<{ readonly session: Session; readonly created: boolean }>
  patch(sessionId: string, body: UpdateSession, options?: CallOptions): Promise<{ readonly session: Session }>
  /** Archives a Session for good. Idempotent. */
  archive(sessionId: string, options?: CallOptions): Promise<void>
  /**
   * Resets a Session whose work is lost (`continuation.reason` is `checkpoint_missing`); refused in any other state. If
   * the response is lost, a retry may be refused although the first call succeeded; `continuation.state` is `fresh`
   * then.
   */
  reset(sessionId: string, options?: CallOptions): Promise<{ readonly session: Session }>
  /**
   * Makes a new Session from where a Run ended; absent `runId`: the newest sealed one. `created` is false for an exact
   * replay. An absent `id` is chosen once for all attempts of the call.
   */
  fork(
    sessionId: string,
    body?: ForkSession,
    options?: CallOptions,
  ): Promise<{ readonly session: Session; readonly created: boolean }>
  /**
   * Attaches a workspace without a Turn, restored from the last checkpoint. 503 `cloud_workspace_starting` means that
   * it is still in the making: repeat the call.
   */
  restoreWorkspace(sessionId: string, options?: CallOptions): Promise<{ readonly session: Session }>
  /** Gives the sandbox of an idle Session back; the next Turn gets a fresh one with the sealed work. Idempotent. */
  releaseWorkspace(sessionId: string, options?: CallOptions): Promise<void>
  /** Returns the worker that executes the active Run; null if there is none. */
  fence(sessionId: string, options?: CallOptions): Promise<FenceEnvelope>
}

export interface TurnOperations {
  list(sessionId: string, query?: AfterQuery, options?: CallOptions): Promise<TurnPage>
  /** Submits a Turn under an id that the caller chooses; `created` is false for an exact replay. */
  put(sessionId: string, turnId: string, body: SubmitTurn, options?: CallOptions): Promise<TurnAdmission>
}

export interface RunOperations {
  get(sessionId: string, runId: string, options?: CallOptions): Promise<{ readonly run: Run }>
  /** Asks a Run to stop. Idempotent; the Run has ended only when its terminal Event is in the log. */
  cancel(sessionId: string, runId: string, options?: CallOptions): Promise<{ readonly run: Run }>
}

export interface InteractionOperations {
  /** Lists the open Interactions, oldest first. A Turn with `replyTo` answers a question or a plan. */
  list(sessionId: string, options?: CallOptions): Promise<InteractionList>
  /** Decides an approval. Repeat it with the same `idempotencyKey`; the first decision wins, whoever made it. */
  decide(
    sessionId: string,
    interactionId: string,
    decision: DecideInteraction,
    options?: CallOptions,
  ): Promise<DecisionEnvelope>
}

export interface EventOperations {
  /**
   * Opens the feed of changed Sessions once, without retry, for installations alone; most callers want `followChanges`
   * instead. Absent `lastEventId`: from now on.
   */
  openChanges(lastEventId?: string, options?: CallOptions): Promise<Response>
  page(sessionId: string, query?: AfterQuery, options?: CallOptions): Promise<EventPage>
  /** Opens the live stream once, without retry; most callers want `followSession` instead. */
  openStream(sessionId: string, after: number, options?: CallOptions): Promise<Response>
  /** Opens the stream of previews once, without retry; most callers want `followPreviews` instead. */
  openPreviews(sessionId: string, options?: CallOptions): Promise<Response>
}

export function sessionOperations(transport: Transport): SessionOperations {
  const one = (sessionId: string) => ['v1', 'sessions', sessionId]
  return {
    list: (query, options) =>
      call(transport, { method: 'GET', path: ['v1', 'sessions'], query: { ...query } }, options),
    get: (sessionId, options) => call(transport, { method: 'GET', path: one(sessionId) }, options),
    create: createSession(transport, 'v1'),
    patch: (sessionId, body, options) => call(transport, { method: 'PATCH', path: one(sessionId), body }, options),
    async archive(sessionId, options) {
      await call(transport, { method: 'DELETE', path: one(sessionId) }, options)
    },
    reset: (sessionId, options) => call(transport, { method: 'POST', path: [...one(sessionId), 'reset'] }, options),
    async fork(sessionId, body = {}, options) {
      const path = [...one(sessionId), 'forks']
      const answer = await transport.json({ method: 'POST', path, body: { id: crypto.randomUUID(), ...body }, options })
      const { session } = answer.body as { session: Session }
      return { session, created: answer.status === 201 }
    },
    restoreWorkspace: (sessionId, options) =>
      call(transport, { method: 'PUT', path: [...one(sessionId), 'workspace'] }, options),
    async releaseWorkspace(sessionId, options) {
      await call(transport, { method: 'DELETE', path: [...one(sessionId), 'workspace'] }, options)
    },
    fence: (sessionId, options) => call(transport, { method: 'GET', path: [...one(sessionId), 'fence'] }, options),
  }
}

/** Makes the operation that creates a Session: of `/v1`, or of `/cloud`, where people may name a repository. */
export function createSession(transport: Transport, root: 'v1' | 'cloud'): SessionOperations['create'] {
  return async (sessionId, body, options) => {
    const path = [root, 'sessions', sessionId]
    const answer = await transport.json({ method: 'PUT', path, body, options })
    const { session } = answer.body as { session: Session }
    return { session, created: answer.status === 201 }
  }
}

export function turnOperations(transport: Transport): TurnOperations {
  const all = (sessionId: string) => ['v1', 'sessions', sessionId, 'turns']
  return {
    list: (sessionId, query, options) =>
      call(transport, { method: 'GET', path: all(sessionId), query: { ...query } }, options),
    put: (sessionId, turnId, body, options) =>
      call(transport, { method: 'PUT', path: [...all(sessionId), turnId], body }, options),
  }
}

export function runOperations(transport: Transport): RunOperations {
  const one = (sessionId: string, runId: string) => ['v1', 'sessions', sessionId, 'runs', runId]
  return {
    get: (sessionId, runId, options) => call(transport, { method: 'GET', path: one(sessionId, runId) }, options),
    cancel: (sessionId, runId, options) =>
      call(transport, { method: 'POST', path: [...one(sessionId, runId), 'cancel'] }, options),
  }
}

export function interactionOperations(transport: Transport): InteractionOperations {
  const all = (sessionId: string) => ['v1', 'sessions', sessionId, 'interactions']
  return {
    list: (sessionId, options) => call(transport, { method: 'GET', path: all(sessionId) }, options),
    decide: (sessionId, interactionId, decision, options) =>
      call(transport, { method: 'PUT', path: [...all(sessionId), interactionId, 'decision'], body: decision }, options),
  }
}

export function eventOperations(transport: Transport): EventOperations {
  const log = (sessionId: string) => ['v1', 'sessions', sessionId, 'events']
  return {
    page: (sessionId, query, options) =>
      call(transport, { method: 'GET', path: log(sessionId), query: { ...query } }, options),
    // Send the cursor twice: if a proxy drops the header, the replay must still start at the right place.
    openStream: (sessionId, after, options) =>
      transport.open({
        method: 'GET',
        path: [...log(sessionId), 'stream'],
        query: { after },
        headers: { accept: 'text/event-stream', 'last-event-id': String(after) },
        options,
      }),
    openPreviews: (sessionId, options) =>
      transport.open({
        method: 'GET',
        path: ['v1', 'sessions', sessionId, 'previews'],
        headers: { accept: 'text/event-stream' },
        options,
      }),
    openChanges: (lastEventId, options) =>
      transport.open({
        method: 'GET',
        path: ['v1', 'sessions', 'stream'],
        headers: {
          accept: 'text/event-stream',
          ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        },
        options,
      }),
  }
}

/** Reads the limits of the deployment and the capabilities of the credential. */
export function readCapabilities(transport: Transport, options?: CallOptions): Promise<Discovery> {
  return call(transport, { method: 'GET', path: ['v1', 'capabilities'] }, options)
}

/** Lists the agents that a Session can run. */
export function readRuntimes(transport: Transport, options?: CallOptions): Promise<RuntimeList> {
  return call(transport, { method: 'GET', path: ['v1', 'runtimes'] }, options)
}

/** Reads a person with the organization and membership of their token. */
export function readMe(transport: Transport, options?: CallOptions): Promise<Identity> {
  return call(transport, { method: 'GET', path: ['v1', 'me'] }, options)
}

/**
 * Sends a request. The contract fixes the type of the response, so it is not validated again; it may hold more fields.
 */
async function call<T>(transport: Transport, request: ApiRequest, options: CallOptions | undefined): Promise<T> {
  const { body } = await transport.json({ ...request, options })
  return body as T
}
