import {
  type CreateSession,
  efforts,
  findRepository,
  type SessionSource,
  statusLabel,
  statusReason,
} from '@berth/client'
import { Type } from 'typebox'
import { ToolMisuse } from '../refusals.ts'
import { nextCursor, orNull, type ToolCall, tool } from '../tool.ts'

const id = () =>
  Type.Optional(Type.String({ format: 'uuid', description: 'A new UUID. With it, the call can be repeated safely.' }))

const outputSchema = () =>
  Type.Optional(
    Type.Unsafe<Readonly<Record<string, unknown>>>({
      type: 'object',
      description:
        'A JSON Schema. The run then ends with a JSON value that satisfies it, or fails with output_invalid.',
    }),
  )

/** A Session as these tools tell of it. */
const session = {
  sessionId: Type.String(),
  sessionUrl: Type.String(),
  phase: Type.String({ description: '`idle` if no run is active.' }),
  sequence: Type.Integer({ description: 'Where follow_session begins, as its `after`.' }),
}

export const startSession = tool({
  name: 'start_session',
  title: 'Start a coding agent',
  description:
    'Starts an agent with a task in a sandbox of its own, on a repository or none, and returns at once. Then call follow_session.',
  input: Type.Object({
    message: Type.String({ minLength: 1, description: 'The task.' }),
    repository: Type.Optional(Type.String({ description: '`owner/name`, as list_repositories has it.' })),
    base: Type.Optional(Type.String({ description: "Branch to start from; the repository's default if not given." })),
    title: Type.Optional(Type.String()),
    runtime: Type.Optional(Type.String({ description: 'Id of list_runtimes.' })),
    model: Type.Optional(Type.String()),
    effort: Type.Optional(
      Type.Enum(efforts, { type: 'string', description: "How hard it may think; the model's default if not given." }),
    ),
    environment: Type.Optional(Type.String({ description: 'Id of list_environments.' })),
    outputSchema: outputSchema(),
    sessionId: id(),
  }),
  output: Type.Object(session),
  async run(
    { message, repository, base, environment, outputSchema: schema, sessionId = crypto.randomUUID(), ...settings },
    call,
  ) {
    const { client, signal, isPerson } = call
    if (base !== undefined && repository === undefined) throw new ToolMisuse('`base` needs a `repository`.')
    const source = repository === undefined ? undefined : await sourceOf(call, repository, base)
    const operation = isPerson && source !== undefined ? 'createOrganizationSession' : 'createSession'
    const body: CreateSession = {
      ...settings,
      ...(source !== undefined && { source }),
      ...(environment !== undefined && { environment: { id: environment } }),
      // A repeated call must be the same request, so the Turn's id follows from the Session's.
      initialTurn: { id: sessionId, message, ...(schema !== undefined && { output: { schema } }) },
    }
    const { session } = await client.call(operation, { sessionId, body }, { signal })
    return {
      text: `Session ${session.id} has begun: ${session.sessionUrl}\nCall follow_session to wait for news.`,
      data: { sessionId: session.id, sessionUrl: session.sessionUrl, phase: session.phase, sequence: 0 },
    }
  },
})

async function sourceOf(
  { client, isPerson, signal }: ToolCall,
  fullName: string,
  baseBranch: string | undefined,
): Promise<SessionSource> {
  const found = await findRepository(client, fullName, { baseBranch, ofOrganization: isPerson, signal })
  if (found !== null) return found
  throw new ToolMisuse(`No repository ${fullName} is granted; list_repositories names those that are.`)
}

export const sendMessage = tool({
  name: 'send_message',
  title: 'Send a message to a session',
  description:
    'Gives the agent of an idle session its next task, in the same workspace. While a run goes on, it is refused: wait with follow_session first, or pass steer to give it to the agent at work.',
  input: Type.Object({
    sessionId: Type.String(),
    message: Type.String({ minLength: 1 }),
    steer: Type.Optional(
      Type.Boolean({
        description:
          'Give the message to the agent at work, at its next step. Without a run it begins one. Not every runtime can.',
      }),
    ),
    updateFromBase: Type.Optional(
      Type.Boolean({
        description:
          'First merge the newest commits of the branch that the work goes to into the workspace. The agent is told what conflicts.',
      }),
    ),
    outputSchema: outputSchema(),
    turnId: id(),
  }),
  output: Type.Object({
    sessionId: Type.String(),
    runId: Type.String(),
    turnId: Type.String(),
    status: Type.String(),
    sequence: session.sequence,
  }),
  async run(
    { sessionId, message, steer, updateFromBase, outputSchema: schema, turnId = crypto.randomUUID() },
    { client, signal },
  ) {
    // Read before the Turn is sent, so that every Event of its Run comes after it.
    const { session } = await client.call('getSession', { sessionId }, { signal })
    const { run } = await client.call(
      'submitTurn',
      {
        sessionId,
        turnId,
        body: {
          message,
          ...(steer === true && { mode: 'steer' as const }),
          ...(updateFromBase === true && { updateFromBase }),
          ...(schema !== undefined && { output: { schema } }),
        },
      },
      { signal },
    )
    const after = session.lastEventSequence
    return {
      text: `Run ${run.id} is ${run.status}. Call follow_session with after ${after}.`,
      data: { sessionId, runId: run.id, turnId, status: run.status, sequence: after },
    }
  },
})

export const forkSession = tool({
  name: 'fork_session',
  title: 'Fork a session',
  description:
    'Makes a new session from where a run of another one ended, with its workspace and conversation, to try another way. The other session stays as it is. Then call send_message.',
  input: Type.Object({
    sessionId: Type.String(),
    runId: Type.Optional(Type.String({ description: 'The run to begin after; the newest sealed one if not given.' })),
    title: Type.Optional(Type.String()),
    forkId: id(),
  }),
  output: Type.Object(session),
  async run({ sessionId, forkId, ...body }, { client, signal }) {
    const { session } = await client.call(
      'forkSession',
      { sessionId, body: { ...body, ...(forkId !== undefined && { id: forkId }) } },
      { signal },
    )
    return {
      text: `Session ${session.id} was forked: ${session.sessionUrl}`,
      data: {
        sessionId: session.id,
        sessionUrl: session.sessionUrl,
        phase: session.phase,
        sequence: session.lastEventSequence,
      },
    }
  },
})

export const stopRun = tool({
  name: 'stop_run',
  title: 'Stop the run of a session',
  description: 'Asks the active run of a session to stop. Its work so far is kept.',
  input: Type.Object({ sessionId: Type.String() }),
  output: Type.Object({
    sessionId: Type.String(),
    runId: orNull('The run that was asked to stop; null if none is active.'),
    status: Type.Optional(Type.String()),
  }),
  repeatable: true,
  async run({ sessionId }, { client, signal }) {
    const { session } = await client.call('getSession', { sessionId }, { signal })
    if (session.activeRunId === undefined) return { text: 'No run is active.', data: { sessionId, runId: null } }
    const { run } = await client.call('cancelRun', { sessionId, runId: session.activeRunId }, { signal })
    return { text: `Run ${run.id} was asked to stop.`, data: { sessionId, runId: run.id, status: run.status } }
  },
})

export const listSessions = tool({
  name: 'list_sessions',
  title: 'List sessions',
  description: 'Lists sessions, most recently changed first.',
  input: Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    cursor: Type.Optional(Type.String({ description: '`nextCursor` of the page before.' })),
  }),
  output: Type.Object({
    sessions: Type.Array(
      Type.Object({
        ...session,
        status: Type.String({ description: 'Such as needs_you, working, failed or ready_to_review.' }),
        reason: orNull('Why its last run failed or was stopped.'),
        title: orNull(),
      }),
    ),
    nextCursor: nextCursor(),
  }),
  reads: true,
  async run({ limit = 20, cursor }, { client, signal }) {
    const page = await client.call(
      'listSessions',
      { query: { limit, ...(cursor !== undefined && { cursor }) } },
      { signal },
    )
    const sessions = page.sessions.map(session => ({
      sessionId: session.id,
      title: session.title ?? null,
      phase: session.phase,
      status: session.status,
      reason: statusReason(session) || null,
      sessionUrl: session.sessionUrl,
      sequence: session.lastEventSequence,
    }))
    return {
      text:
        sessions
          .map(({ sessionId, status, reason, title }) =>
            [sessionId, statusLabel(status) + (reason === null ? '' : ` (${reason})`), title].join(' ').trimEnd(),
          )
          .join('\n') || 'None.',
      data: { sessions, nextCursor: page.hasMore ? page.nextCursor : null },
    }
  },
})
