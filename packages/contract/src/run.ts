import { type Static, Type } from 'typebox'
import { Count, DateTime, nullable, open, openString, Uuid } from './scalar.ts'

/** The closed set of Run states; the last four are terminal. */
export const runStatuses = [
  'queued',
  'dispatching',
  'running',
  'awaiting',
  'completed',
  'failed',
  'cancelled',
  'crashed',
] as const

export const terminalRunStatuses = ['completed', 'failed', 'cancelled', 'crashed'] as const

/** Why an agent stopped. */
export const stopReasons = [
  'completed',
  'aborted',
  'max_turns',
  'max_response',
  'error',
  'cost_budget',
  'cost_unknown',
  'turn_budget',
  'time_budget',
  'repeated_tool_failure',
  'engine_unreachable',
  'execution_deadline',
] as const

/** How a Run ended and its cost; shared by the Run and its terminal Event. */
export const runOutcomeFields = {
  stopReason: Type.Optional(openString(stopReasons)),
  errorCode: Type.Optional(
    openString([
      'environment_setup_failed',
      'turn_execution_lost',
      'resume_unavailable',
      'bring_failed',
      'push_conflict',
      'authority_revoked_dispatch',
      'authority_revoked',
      'shell_exit_nonzero',
      'event_budget',
      'output_invalid',
      'model_not_configured',
      'model_rate_limited',
      'model_unavailable',
      'model_credential_refused',
      'model_response_invalid',
      'model_request_refused',
      'model_context_exceeded',
    ]),
  ),
  costUsd: Type.Optional(Type.Number({ minimum: 0, description: 'Cost of the models so far, in US dollars.' })),
  costComplete: Type.Optional(Type.Boolean({ description: 'False if `costUsd` is only the known part of the cost.' })),
  turns: Type.Optional(Count),
}

/** The JSON value that a Turn asked for; any type that its schema allows. */
export const OutputValue = Type.Unknown({
  description: 'The JSON value that the Turn asked for with `output`; present on every such Run that completed.',
})

/** Tokens of model requests, and how much of the input came from caches. */
export const usageFields = {
  usage: Type.Optional(
    Type.Object(
      {
        inputTokens: Count,
        cachedInputTokens: Type.Integer({ minimum: 0, description: 'Part of `inputTokens`: read from a cache.' }),
        cacheWriteTokens: Type.Integer({ minimum: 0, description: 'Part of `inputTokens`: written to a cache.' }),
        outputTokens: Count,
        reasoningTokens: Type.Integer({ minimum: 0, description: 'Part of `outputTokens`.' }),
      },
      open,
    ),
  ),
  cacheHitRatio: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Input tokens read from a cache, of all; absent without input.',
    }),
  ),
}

const Milliseconds = (description: string) => Type.Integer({ minimum: 0, description })

/** What the time of a Run went into; each moment counts once. */
export const timeField = {
  time: Type.Optional(
    Type.Object(
      {
        modelMs: Milliseconds('A model was asked.'),
        peopleMs: Milliseconds('People were asked, and no model.'),
        toolsMs: Milliseconds('A tool worked, and nobody was asked.'),
        platformMs: Milliseconds('The rest: the next three, and what the agent and the service do in between.'),
        queueMs: Milliseconds('Part of `platformMs`: no worker had it.'),
        sandboxMs: Milliseconds('Part of `platformMs`: its sandbox was made, restored and set up.'),
        agentStartMs: Milliseconds('Part of `platformMs`: the rest until its agent had the prompt.'),
        sealMs: Type.Optional(
          Milliseconds('In none of these, since it follows the end: its work was sealed. Absent before that is over.'),
        ),
      },
      { description: 'Milliseconds from its admission to its end; absent before the end.', ...open },
    ),
  ),
}

/** The execution of a Turn. */
export const Run = Type.Object(
  {
    id: Uuid,
    sessionId: Uuid,
    turnId: Uuid,
    status: Type.Enum(runStatuses, { type: 'string' }),
    cancellationRequested: Type.Boolean({ description: 'True once a caller has asked the Run to stop.' }),
    attempts: Type.Integer({ minimum: 0, description: 'Attempts so far; 0 until a worker has claimed the Run.' }),
    ...runOutcomeFields,
    ...usageFields,
    ...timeField,
    result: Type.Optional(
      Type.Object(
        {
          summary: Type.Optional(Type.String()),
          artifactIds: Type.Array(Type.String()),
          output: Type.Optional(OutputValue),
        },
        open,
      ),
    ),
    queuedAt: DateTime,
    startedAt: Type.Optional(DateTime),
    endedAt: Type.Optional(DateTime),
  },
  { title: 'Run', description: 'The execution of a Turn.', ...open },
)

/** Response of `getRun` and `cancelRun`. */
export const RunEnvelope = Type.Object({ run: Run }, { title: 'RunEnvelope', ...open })

/** The worker that holds a Session's execution. */
export const Fence = Type.Object(
  {
    runId: Uuid,
    turnId: Uuid,
    attempt: Type.Integer({ minimum: 1 }),
    token: Type.Integer({ minimum: 1, description: 'Increases by one each time another worker takes over.' }),
    holder: Type.String(),
    acquiredAt: DateTime,
    heartbeatAt: DateTime,
    expiresAt: DateTime,
  },
  { ...open },
)

/** Response of `getFence`; null while no Run executes. */
export const FenceEnvelope = Type.Object({ fence: nullable(Fence) }, { title: 'FenceEnvelope', ...open })

export type Run = Static<typeof Run>
export type RunStatus = (typeof runStatuses)[number]
export type TerminalRunStatus = (typeof terminalRunStatuses)[number]
export type StopReason = (typeof stopReasons)[number]
export type Fence = Static<typeof Fence>
