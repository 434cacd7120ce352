import { Type } from 'typebox'
import { WriteSecret } from '../egress.ts'
import {
  ArchiveBytes,
  DefaultEnvironment,
  EnvironmentArchiveEnvelope,
  EnvironmentDraft,
  EnvironmentEnvelope,
  EnvironmentPage,
  EnvironmentRevisionPage,
  ExtensionList,
  VariableName,
} from '../environment.ts'
import { defaultPageSize, environmentLimits } from '../limits.ts'
import { operation } from '../operation.ts'
import { closed, nullable, Sha256, Uuid } from '../scalar.ts'
import { Cursor, pageLimit } from './parameters.ts'

const EnvironmentPath = Type.Object({ environmentId: Uuid })
const SecretPath = Type.Object({ environmentId: Uuid, name: VariableName })

const shared = {
  tag: 'Environments',
  access: 'bearer',
  capability: 'svc.cloud.sessions:create',
  installationCapability: 'environments:manage',
} as const
const read = { ...shared, method: 'GET', installationAlternative: 'environments:use' } as const

/** The revision that a write replaces, in quotes. */
const Seen = Type.String({
  pattern: '^"[1-9][0-9]*"$',
  description: 'The revision that the write replaces, in quotes, such as `"3"`.',
})

/** Of operations that always replace a revision. Its absence has a code of its own: 428 `precondition_required`. */
const IfMatch = Type.Object({ 'if-match': Seen })

const written = { 200: { description: 'The environment as it is now.', schema: EnvironmentEnvelope } } as const
const writeErrors = ['environment_not_found', 'environment_conflict', 'precondition_required'] as const

/** Environments of an organization. */
export const environmentOperations = {
  listEnvironments: operation({
    ...read,
    path: '/v1/environments',
    summary: 'List environments',
    description: 'Lists environments by name. Archived ones are left out unless `archived` is set.',
    query: Type.Object(
      {
        limit: pageLimit(defaultPageSize.environments),
        cursor: Cursor,
        archived: Type.Optional(
          Type.Enum(['true', 'only'], {
            type: 'string',
            description: '`true` includes archived environments; `only` lists nothing else.',
          }),
        ),
      },
      closed,
    ),
    responses: { 200: { description: 'A page of environments.', schema: EnvironmentPage } },
    errors: [],
  }),
  getEnvironment: operation({
    ...read,
    path: '/v1/environments/{environmentId}',
    summary: 'Read an environment',
    params: EnvironmentPath,
    responses: { 200: { description: 'Its newest revision.', schema: EnvironmentEnvelope } },
    errors: ['environment_not_found'],
  }),
  listEnvironmentRevisions: operation({
    ...read,
    path: '/v1/environments/{environmentId}/revisions',
    summary: 'List revisions of an environment',
    description: 'Lists revisions, newest first, also those of an archived environment.',
    params: EnvironmentPath,
    query: Type.Object(
      {
        before: Type.Optional(
          Type.Integer({ minimum: 1, description: 'Returns only revisions with a smaller number.' }),
        ),
        limit: pageLimit(defaultPageSize.environmentRevisions, environmentLimits.revisionPage),
      },
      closed,
    ),
    responses: { 200: { description: 'A page of revisions.', schema: EnvironmentRevisionPage } },
    errors: ['environment_not_found'],
  }),
  putEnvironment: operation({
    ...shared,
    method: 'PUT',
    path: '/v1/environments/{environmentId}',
    summary: 'Create or update an environment',
    description:
      'Without `If-Match` it creates; with it, it replaces the named revision. A document equal to the newest one changes nothing.',
    params: EnvironmentPath,
    headers: Type.Object({ 'if-match': Type.Optional(Seen) }),
    body: Type.Object({ document: EnvironmentDraft }, closed),
    bodyErrors: { document: 'environment_invalid' },
    responses: { ...written, 201: { description: 'The environment as created.', schema: EnvironmentEnvelope } },
    errors: ['environment_invalid', 'quota_exceeded', 'cloud_extension_catalog_unavailable', ...writeErrors],
  }),
  archiveEnvironment: operation({
    ...shared,
    method: 'DELETE',
    path: '/v1/environments/{environmentId}',
    summary: 'Archive an environment',
    description: 'Sessions that are bound to it stay bound. The default cannot be archived.',
    params: EnvironmentPath,
    headers: IfMatch,
    responses: written,
    errors: writeErrors,
  }),
  unarchiveEnvironment: operation({
    ...shared,
    method: 'POST',
    path: '/v1/environments/{environmentId}/unarchive',
    summary: 'Unarchive an environment',
    params: EnvironmentPath,
    headers: IfMatch,
    responses: written,
    errors: ['quota_exceeded', ...writeErrors],
  }),
  restoreEnvironmentRevision: operation({
    ...shared,
    method: 'POST',
    path: '/v1/environments/{environmentId}/revisions/{revision}/restore',
    summary: 'Restore a revision of an environment',
    description: "Writes a new revision with the document of an earlier one and today's secrets.",
    params: Type.Object({ environmentId: Uuid, revision: Type.String({ pattern: '^[1-9][0-9]{0,8}$' }) }),
    headers: IfMatch,
    responses: written,
    errors: ['environment_invalid', 'cloud_extension_catalog_unavailable', ...writeErrors],
  }),
  putEnvironmentSecret: operation({
    ...shared,
    method: 'PUT',
    path: '/v1/environments/{environmentId}/secrets/{name}',
    summary: 'Write a secret of an environment',
    description:
      'Writes a new revision that pins the new version. The value is never returned; sandboxes get it, or a placeholder for it, as a variable of that name.',
    params: SecretPath,
    headers: IfMatch,
    body: WriteSecret,
    bodyErrors: { value: 'environment_invalid', exposure: 'environment_invalid', egress: 'environment_invalid' },
    responses: written,
    errors: ['environment_invalid', ...writeErrors],
  }),
  deleteEnvironmentSecret: operation({
    ...shared,
    method: 'DELETE',
    path: '/v1/environments/{environmentId}/secrets/{name}',
    summary: 'Delete a secret of an environment',
    params: SecretPath,
    headers: IfMatch,
    responses: written,
    errors: writeErrors,
  }),
  uploadEnvironmentArchive: operation({
    ...shared,
    method: 'PUT',
    path: '/v1/environments/{environmentId}/archives/{sha256}',
    summary: 'Upload an extension to an environment',
    description:
      'Stores the archive of an extension under the digest of its bytes. It writes no revision: name the archive in the extensions of the document to install it. A repeat changes nothing. The service removes an archive that no revision names after a day.',
    params: Type.Object({ environmentId: Uuid, sha256: Sha256 }),
    octets: ArchiveBytes,
    octetsType: 'application/zip',
    responses: {
      200: { description: 'The environment has the archive already.', schema: EnvironmentArchiveEnvelope },
      201: { description: 'The archive is stored.', schema: EnvironmentArchiveEnvelope },
    },
    errors: ['environment_invalid', 'environment_not_found', 'environment_conflict', 'quota_exceeded'],
  }),
  listExtensions: operation({
    ...read,
    path: '/v1/extensions',
    summary: 'List the catalog of extensions',
    description: 'Lists the extensions that the operator offers, by slug, each at the release that sandboxes get.',
    responses: { 200: { description: 'The catalog.', schema: ExtensionList } },
    errors: ['cloud_extension_catalog_unavailable'],
  }),
  setDefaultEnvironment: operation({
    ...shared,
    method: 'PUT',
    path: '/v1/organization/default-environment',
    summary: 'Choose the default environment',
    description: 'The default binds new Sessions of people that name no environment; null clears it.',
    body: Type.Object({ id: nullable(Type.String({ format: 'uuid' })) }, { title: 'SetDefaultEnvironment', ...closed }),
    bodyErrors: { id: 'environment_invalid' },
    responses: { 200: { description: 'The default as it is now.', schema: DefaultEnvironment } },
    errors: ['environment_invalid', 'environment_not_found', 'environment_conflict'],
  }),
} as const
