import { Type } from 'typebox'
import { Count, open, openString, Sha256, Uuid } from './scalar.ts'

/** Why the apply of an environment failed. */
export const applyErrorCodes = [
  'setup_exit_nonzero',
  'setup_timeout',
  'repository_clone_failed',
  'packages_failed',
  'secret_unavailable',
  'apply_failed',
  'workspace_lost',
  'cancelled',
  'session_archived',
] as const

const GithubAccess = Type.Object(
  {
    status: openString(['granted', 'unavailable']),
    owners: Type.Optional(Type.Array(Type.String(), { description: 'Logins of accounts, at most 16; if granted.' })),
    reason: Type.Optional(openString(['no_grant', 'authority', 'temporary', 'runtime_outdated'])),
  },
  open,
)

const AppliedRepository = Type.Object(
  {
    repository: Type.String(),
    path: Type.String(),
    state: openString(['cloned', 'kept', 'skipped', 'failed']),
  },
  open,
)

const AppliedExtension = Type.Object(
  {
    ref: Type.String(),
    id: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    sha256: Type.Optional(Sha256),
    state: openString(['active', 'failed']),
    reason: Type.Optional(Type.String()),
  },
  open,
)

const PrebuiltStart = Type.Object(
  {
    state: openString(['used', 'building', 'unavailable']),
    reason: Type.Optional(
      openString(['restored', 'repositories', 'secret', 'size', 'damaged', 'does_not_start', 'temporary']),
    ),
  },
  {
    description:
      'Whether the sandbox started from what an earlier setup made. Absent unless the document says `prebuild`.',
    ...open,
  },
)

const AppliedPackages = Type.Object(
  {
    state: openString(['built', 'used', 'present', 'unavailable', 'failed']),
    reason: Type.Optional(Type.String({ description: 'In words for people; if unavailable.' })),
  },
  {
    description:
      'Whether the sandbox shows the packages of the document: from a layer made for it, from an earlier one, or as a part of its own system. Absent unless the document names packages.',
    ...open,
  },
)

/** `svc.environment.apply`: an environment is applied to a sandbox, or was. */
export const EnvironmentApply = Type.Object(
  {
    leaseId: Type.String(),
    environmentId: Uuid,
    name: Type.String(),
    revision: Type.Integer({ minimum: 1 }),
    status: Type.Enum(['started', 'succeeded', 'failed'], { type: 'string' }),
    cache: Type.Optional(openString(['hit', 'miss', 'discarded', 'skipped_secret', 'skipped_size'])),
    cacheSkip: Type.Optional(Type.Object({ reason: openString(['secret', 'size']), path: Type.String() }, open)),
    cacheDiscarded: Type.Optional(Type.Object({ reason: Type.String({ maxLength: 1024 }) }, open)),
    setupExitCode: Type.Optional(
      Type.Integer({ description: 'Absent if the script did not run, or did not exit by itself.' }),
    ),
    durationMs: Type.Optional(Type.Integer({ minimum: 0, description: 'Since `started`.' })),
    outputTail: Type.Optional(
      Type.String({ description: 'The last 8 KiB that clones and the setup script wrote, with secrets masked.' }),
    ),
    errorCode: Type.Optional(openString(applyErrorCodes)),
    github: Type.Optional(GithubAccess),
    repositories: Type.Optional(Type.Array(AppliedRepository)),
    extensions: Type.Optional(Type.Array(AppliedExtension)),
    prebuilt: Type.Optional(PrebuiltStart),
    packages: Type.Optional(AppliedPackages),
    secretsLeftOut: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), reason: openString(['policy']) }, open), {
        description: 'Secrets of the environment that the sandbox does not get; absent if there is none.',
      }),
    ),
  },
  {
    title: 'EnvironmentApplyData',
    description: 'The apply of an environment to a sandbox has started, succeeded or failed.',
    ...open,
  },
)

/** `svc.workspace.progress`: a step before the agent begins that takes long. */
export const WorkspaceProgress = Type.Object(
  {
    stepId: Type.String({ description: 'The same at the start and at the end of a step.' }),
    step: openString([
      ...['fetch_repository', 'bring_image', 'unpack_extensions', 'create_sandbox', 'restore', 'place_image'],
      ...['place_repository', 'bring_commits', 'start_agent'],
    ]),
    title: Type.String({ description: 'The step in words for people.' }),
    status: Type.Enum(['started', 'succeeded', 'failed'], { type: 'string' }),
    durationMs: Type.Optional(Count),
  },
  {
    title: 'WorkspaceProgressData',
    description:
      'A step that brings a workspace or its agent up has taken a second, or has ended after that. A quick step has no Event; previews show the progress of a long one.',
    ...open,
  },
)

/** `svc.environment.output`: the next piece of what setup writes. */
export const EnvironmentOutput = Type.Object(
  {
    leaseId: Type.String(),
    revision: Type.Integer({ minimum: 1 }),
    offset: Type.Integer({ minimum: 0, description: 'Bytes of UTF-8 in the pieces before this one.' }),
    text: Type.String(),
  },
  {
    title: 'EnvironmentOutputData',
    description:
      'What clones and the setup script wrote, with secrets masked: at most once a second, and the first 128 KiB.',
    ...open,
  },
)
