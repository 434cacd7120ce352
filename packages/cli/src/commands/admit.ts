import { randomUUID } from 'node:crypto'
import type { BerthClient, CreateSession, Effort, Session, SubmitTurn } from '@berth/client'

/** Settings of a new Session. */
export interface NewSession {
  readonly title?: string
  readonly runtime?: string
  readonly model?: string
  readonly effort?: Effort
  readonly budget?: Exclude<CreateSession['budget'], undefined>
  readonly source?: NonNullable<CreateSession['source']>
  readonly environment?: Exclude<CreateSession['environment'], undefined>
}

/** A Turn that the service has admitted, and the place in the log from which to follow its Run. */
export interface Admission {
  readonly session: Session
  readonly turnId: string
  readonly runId: string
  /** Every Event of the Run has a greater sequence. */
  readonly after: number
}

/**
 * Creates a Session with this first Turn. The operation takes no files, so if the Turn has files, this creates an idle
 * Session first.
 */
export async function admitToNewSession(
  client: BerthClient,
  operation: 'createSession' | 'createOrganizationSession',
  settled: NewSession,
  turn: SubmitTurn,
  signal: AbortSignal,
): Promise<Admission> {
  const sessionId = randomUUID()
  if (turn.files === undefined) {
    const initialTurn = { id: randomUUID(), ...turn }
    const body = { ...settled, initialTurn }
    const { session } = await client.call(operation, { sessionId, body }, { signal })
    const runId = session.activeRunId ?? (await firstRunId(client, sessionId, signal))
    return { session, turnId: initialTurn.id, runId, after: 0 }
  }
  await client.call(operation, { sessionId, body: settled }, { signal })
  return admitToSession(client, sessionId, turn, signal)
}

/** Sends a Turn to an existing Session. */
export async function admitToSession(
  client: BerthClient,
  sessionId: string,
  turn: SubmitTurn,
  signal: AbortSignal,
): Promise<Admission> {
  // Read the sequence before sending the Turn, so that every Event of its Run comes after it.
  const { session } = await client.call('getSession', { sessionId }, { signal })
  const turnId = randomUUID()
  const { run } = await client.call('submitTurn', { sessionId, turnId, body: turn }, { signal })
  return { session, turnId, runId: run.id, after: session.lastEventSequence }
}

/** Finds the Run of the first Turn, for a Session whose first Run ended before a repeated request read it. */
async function firstRunId(client: BerthClient, sessionId: string, signal: AbortSignal): Promise<string> {
  const { turns } = await client.call('listTurns', { sessionId, query: { limit: 1 } }, { signal })
  const [first] = turns
  if (first === undefined)
    throw new Error('the service created the session without its first turn; send the message again with --session')
  return first.runId
}
