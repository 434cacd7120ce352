import { type Static, Type } from 'typebox'
import { EnvironmentApply } from './event-data-workspace.ts'
import { closed, DateTime, nullable, open, openString, Uuid } from './scalar.ts'
import { CreateSession, Creator } from './session.ts'

/** States of a trial; the last three are its ends. */
export const trialStates = ['starting', 'applying', 'succeeded', 'failed', 'stopped'] as const

/** Why a trial was stopped: somebody asked, nobody followed it, or it took too long. */
export const trialStops = ['asked', 'unwatched', 'overdue'] as const

/** One apply of an environment in a sandbox that is thrown away. */
export const EnvironmentTrial = Type.Object(
  {
    id: Uuid,
    environmentId: Uuid,
    revision: nullable(
      Type.Integer({ minimum: 1, description: 'The revision that is tried; null until a worker makes the sandbox.' }),
    ),
    state: Type.Enum(trialStates, { type: 'string' }),
    stopReason: Type.Optional(openString(trialStops, 'Why it was stopped; only in the state `stopped`.')),
    startedBy: Creator,
    createdAt: DateTime,
    endsAt: Type.String({ format: 'date-time', description: 'When it is stopped at the latest.' }),
    endedAt: nullable(Type.String({ format: 'date-time', description: 'When its sandbox was given back.' })),
    result: Type.Union([Type.Null(), EnvironmentApply], {
      description: 'What the apply says at its end; null until then, and if it never began.',
    }),
  },
  { title: 'EnvironmentTrial', ...open },
)

export const EnvironmentTrialEnvelope = Type.Object(
  { trial: EnvironmentTrial },
  { title: 'EnvironmentTrialEnvelope', ...open },
)

const { runtime, source } = CreateSession.properties

export const StartTrial = Type.Object(
  { runtime, source },
  {
    title: 'StartTrial',
    description: 'An empty object tries the environment in a sandbox of the `shell` runtime.',
    ...closed,
  },
)

export type EnvironmentTrial = Static<typeof EnvironmentTrial>
export type StartTrial = Static<typeof StartTrial>
export type TrialStop = (typeof trialStops)[number]
