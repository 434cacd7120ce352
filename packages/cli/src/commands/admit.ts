import { randomUUID } from 'node:crypto'
import type { BerthClient, CreateSession, Session, SubmitTurn } from '@berth/client'
import { clip } from '../terminal-text.ts'

/** What a new Session settles on. */
export interface NewSession {
  readonly title?: string
  readonly runtime?: string
  readonly model?: string
  readonly source?: NonNullable<CreateSession['source']>
}

/** A Turn that the service has taken, and where its Run is to be followed from. */
export interface Admission {
  readonly session: Session
  readonly turnId: string
  readonly runId: string
  /** Every Event of the Run has a greater sequence. */
  readonly after: number
}

const titleCharacters = 160

/**
 * Makes a Session whose first Turn is this one. Files cannot travel with a Session, so with files it is made idle first
 * and given the title that it would have taken from the message.
 */
export async function admitToNewSession(
  client: BerthClient,
  settled: NewSession,
  turn: SubmitTurn,
  signal: AbortSignal,
): Promise<Admission> {
  const sessionId = randomUUID()
  if (turn.files === undefined) {
    const initialTurn = { id: randomUUID(), message: turn.message }
    const { session } = await client.sessions.create(sessionId, { ...settled, initialTurn }, { signal })
    const runId = session.activeRunId ?? (await firstRunId(client, sessionId, signal))
    return { session, turnId: initialTurn.id, runId, after: 0 }
  }
  const title = settled.title ?? titleFrom(turn.message)
  const body = title === null ? settled : { ...settled, title }
  await client.sessions.create(sessionId, body, { signal })
  return admitToSession(client, sessionId, turn, signal)
}

/** Sends a Turn to a Session that exists. */
export async function admitToSession(
  client: BerthClient,
  sessionId: string,
  turn: SubmitTurn,
  signal: AbortSignal,
): Promise<Admission> {
  // Read before the Turn is sent: whatever the Run appends comes after this.
  const { session } = await client.sessions.get(sessionId, { signal })
  const turnId = randomUUID()
  const { run } = await client.turns.put(sessionId, turnId, turn, { signal })
  return { session, turnId, runId: run.id, after: session.lastEventSequence }
}

/** A Session read after a lost answer may show its first Run as ended already, and then does not name it. */
async function firstRunId(client: BerthClient, sessionId: string, signal: AbortSignal): Promise<string> {
  const { turns } = await client.turns.list(sessionId, { limit: 1 }, { signal })
  const [first] = turns
  if (first === undefined) throw new Error('the service made the session without its first turn')
  return first.runId
}

function titleFrom(message: string): string | null {
  const line = message.split('\n').find(text => text.trim() !== '')
  return line === undefined ? null : clip(line.trim(), titleCharacters)
}
