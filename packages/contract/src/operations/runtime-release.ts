import { Type } from 'typebox'
import { operation } from '../operation.ts'
import {
  ActivateRuntimeReleaseProbe,
  EngineBytes,
  ReleaseSha,
  RuntimeReleaseProbeEnvelope,
  StandingRuntimeReleaseProbe,
  UploadedEngine,
} from '../runtime-release.ts'

const ReleasePath = Type.Object({ releaseSha: ReleaseSha })
const shared = {
  tag: 'Runtime releases',
  access: 'bearer',
  capability: 'svc.cloud.runtime-releases:probe',
  principal: 'app_installation',
} as const

/** Trying a release of the built-in agent in the sandboxes of one installation. */
export const runtimeReleaseOperations = {
  getRuntimeReleaseProbe: operation({
    ...shared,
    method: 'GET',
    path: '/v1/runtime-release-probe',
    summary: 'Read the standing probe',
    description: 'Returns the release that the installation tries; null if it tries none.',
    responses: { 200: { description: 'The standing probe, or null.', schema: StandingRuntimeReleaseProbe } },
    errors: [],
  }),
  activateRuntimeReleaseProbe: operation({
    ...shared,
    method: 'PUT',
    path: '/v1/runtime-release-probe/{releaseSha}',
    summary: 'Try a release',
    description:
      "Replaces the engine of runtime `native` in sandboxes that are made for the installation's Sessions from now on, until the probe is deleted, replaced or expired. A sandbox keeps the engine that it was made with. Answers after the service has the bytes and has verified their digest. A release cannot change its engine.",
    params: ReleasePath,
    body: ActivateRuntimeReleaseProbe,
    responses: { 200: { description: 'The probe stands.', schema: RuntimeReleaseProbeEnvelope } },
    errors: ['runtime_release_conflict'],
  }),
  uploadRuntimeReleaseEngine: operation({
    ...shared,
    method: 'PUT',
    path: '/v1/runtime-release-probe/{releaseSha}/engine',
    summary: 'Upload the engine of a release',
    description:
      "Stores an engine for a later activation of the release without a URL. The service keeps an installation's four newest uploads, each for 24 hours.",
    params: ReleasePath,
    octets: EngineBytes,
    responses: { 200: { description: 'Digest and size of the stored bytes.', schema: UploadedEngine } },
    errors: ['runtime_release_conflict'],
  }),
  deleteRuntimeReleaseProbe: operation({
    ...shared,
    method: 'DELETE',
    path: '/v1/runtime-release-probe/{releaseSha}',
    summary: 'Stop trying a release',
    description: 'Ends the probe if it still names this release. Idempotent.',
    params: ReleasePath,
    responses: { 204: { description: 'The probe does not stand.' } },
    errors: [],
  }),
} as const
