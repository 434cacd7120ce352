import { Type } from 'typebox'
import { EnvironmentTrialEnvelope, StartTrial } from '../environment-trial.ts'
import { operation } from '../operation.ts'
import { closed, Uuid } from '../scalar.ts'
import { AfterSequence } from './parameters.ts'

const EnvironmentPath = Type.Object({ environmentId: Uuid })
const TrialPath = Type.Object({ environmentId: Uuid, trialId: Uuid })

/** Installations try environments on repositories of their own grants, people on those of their organization. */
const shared = {
  access: 'bearer',
  tag: 'Environments',
  capability: 'svc.cloud.sessions:create',
  installationCapability: 'environments:manage',
} as const

const startEnvironmentTrial = operation({
  ...shared,
  method: 'POST',
  path: '/v1/environments/{environmentId}/trials',
  summary: 'Try an environment',
  description:
    'Applies the newest revision in a sandbox that is given back at the end. No agent starts, and the trial is in no list of Sessions. It is stopped if nobody has read or followed it for a minute, and at `endsAt` in any case.',
  params: EnvironmentPath,
  body: StartTrial,
  responses: { 201: { description: 'The trial, which goes on by itself.', schema: EnvironmentTrialEnvelope } },
  errors: [
    'environment_not_found',
    'environment_conflict',
    'quota_exceeded',
    'cloud_compute_not_configured',
    'cloud_compute_outdated',
    'cloud_agent_catalog_unavailable',
    'cloud_repository_branch_not_found',
    'cloud_repository_grant_required',
    'cloud_github_connection_required',
    'cloud_repository_unavailable',
    'cloud_repository_permission_denied',
    'cloud_workspace_unavailable',
  ],
})

const getEnvironmentTrial = operation({
  ...shared,
  method: 'GET',
  path: '/v1/environments/{environmentId}/trials/{trialId}',
  summary: 'Read a trial of an environment',
  description: 'A trial that has ended can be read for about a day.',
  params: TrialPath,
  responses: { 200: { description: 'The trial as it is now.', schema: EnvironmentTrialEnvelope } },
  errors: ['environment_trial_not_found'],
})

const streamEnvironmentTrial = operation({
  ...shared,
  method: 'GET',
  path: '/v1/environments/{environmentId}/trials/{trialId}/stream',
  summary: 'Follow a trial of an environment',
  description:
    'Streams as server-sent events. `data` is `{ kind: "trial", trial }` at the beginning and at each change of the state, or `{ kind: "event", event }` with an Event of the log, whose `id` is its sequence. To resume, reconnect with `Last-Event-ID`. The last frame is the trial that has ended.',
  params: TrialPath,
  query: Type.Object({ after: AfterSequence }, closed),
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Sequence of the last Event received; takes precedence over `after`.',
      }),
    ),
  }),
  responses: { 200: { description: 'The stream.', mediaTypes: ['text/event-stream'] } },
  errors: ['environment_trial_not_found', 'event_stream_unavailable'],
})

const stopEnvironmentTrial = operation({
  ...shared,
  method: 'DELETE',
  path: '/v1/environments/{environmentId}/trials/{trialId}',
  summary: 'Stop a trial of an environment',
  description: 'Gives the sandbox back. A trial that has ended stays as it ended.',
  params: TrialPath,
  responses: { 200: { description: 'The trial, which has ended.', schema: EnvironmentTrialEnvelope } },
  errors: ['environment_trial_not_found'],
})

/** Trials of environments. */
export const environmentTrialOperations = {
  startEnvironmentTrial,
  getEnvironmentTrial,
  streamEnvironmentTrial,
  stopEnvironmentTrial,
} as const
