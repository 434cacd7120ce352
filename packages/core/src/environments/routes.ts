import { environmentLimits } from '@berth/contract'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { archiveEnvironment, unarchiveEnvironment } from './archive-environment.ts'
import { toArchive } from './archives/archive.ts'
import { type Spooling, uploadArchive } from './archives/upload-archive.ts'
import { toEnvironments } from './environment.ts'
import { type EnvironmentKey, type EnvironmentRow, findEnvironment, lockEnvironment } from './environment-sql.ts'
import { revisionOf } from './if-match.ts'
import { pageEnvironments, pageRevisions } from './list-environments.ts'
import { removeProposedHost } from './proposed-hosts.ts'
import { type Documents, putEnvironment } from './put-environment.ts'
import { restoreRevision } from './restore-revision.ts'
import { deleteSecret, writeSecret } from './secrets.ts'
import { setDefault } from './set-default.ts'

type Operations =
  | 'listEnvironments'
  | 'getEnvironment'
  | 'listEnvironmentRevisions'
  | 'putEnvironment'
  | 'archiveEnvironment'
  | 'unarchiveEnvironment'
  | 'restoreEnvironmentRevision'
  | 'putEnvironmentSecret'
  | 'deleteEnvironmentSecret'
  | 'uploadEnvironmentArchive'
  | 'setDefaultEnvironment'
  | 'removeProposedHost'
  | 'listExtensions'

/** Serves the environments of an organization over HTTP. */
export function environmentHandlers(
  context: Context,
  { spoolDirectory, catalog, openHosts }: Spooling & Pick<Documents, 'catalog' | 'openHosts'>,
): Pick<Handlers, Operations> {
  const { db } = context
  const documents = { ...context, catalog, openHosts }
  const show = async ({ organizationId }: Principal, row: EnvironmentRow) => {
    const [environment] = await toEnvironments(documents, organizationId, [row])
    if (environment === undefined) throw new Error('one environment has one resource')
    return environment
  }
  const answer = async (principal: Principal, row: EnvironmentRow) => ({
    status: 200 as const,
    body: { environment: await show(principal, row) },
    headers: tagged(row),
  })
  return {
    listEnvironments: async ({ principal, query }) => ({
      status: 200,
      body: await pageEnvironments(documents, principal.organizationId, query),
    }),
    getEnvironment: async ({ principal, params }) => {
      const row = await findEnvironment(db, keyOf(principal, params))
      if (row === null) throw refusal('environment_not_found')
      return answer(principal, row)
    },
    listEnvironmentRevisions: async ({ principal, params, query }) => ({
      status: 200,
      body: await pageRevisions(db, keyOf(principal, params), query),
    }),
    putEnvironment: async ({ principal, params, body, headerParams }) => {
      const ifMatch = headerParams['if-match']
      const seen = ifMatch === undefined ? null : revisionOf(ifMatch)
      const { created, row } = await putEnvironment(documents, principal, keyOf(principal, params), body.document, seen)
      const location = { location: `/v1/environments/${row.id}` }
      return {
        status: created ? 201 : 200,
        body: { environment: await show(principal, row) },
        headers: tagged(row, location),
      }
    },
    archiveEnvironment: async ({ principal, params, headerParams }) =>
      answer(principal, await archiveEnvironment(context, principal, keyOf(principal, params), seenBy(headerParams))),
    unarchiveEnvironment: async ({ principal, params, headerParams }) =>
      answer(principal, await unarchiveEnvironment(context, principal, keyOf(principal, params), seenBy(headerParams))),
    restoreEnvironmentRevision: async ({ principal, params, headerParams }) => {
      const seen = seenBy(headerParams)
      const key = keyOf(principal, params)
      return answer(principal, await restoreRevision(documents, principal, key, Number(params.revision), seen))
    },
    putEnvironmentSecret: async ({ principal, params, body, headerParams }) => {
      const secret = { name: params.name, ...body }
      return answer(
        principal,
        await writeSecret(context, principal, keyOf(principal, params), secret, seenBy(headerParams)),
      )
    },
    deleteEnvironmentSecret: async ({ principal, params, headerParams }) =>
      answer(
        principal,
        await deleteSecret(context, principal, keyOf(principal, params), params.name, seenBy(headerParams)),
      ),
    uploadEnvironmentArchive: async ({ principal, params, body }) => {
      const content = body.bytes(environmentLimits.archiveBytes)
      const key = keyOf(principal, params)
      const { created, archive } = await uploadArchive({ ...context, spoolDirectory }, key, params.sha256, content)
      return { status: created ? 201 : 200, body: { archive: toArchive(archive) } }
    },
    removeProposedHost: async ({ principal, params }) => {
      const key = keyOf(principal, params)
      const row = await db.transaction(async tx => {
        const found = await lockEnvironment(tx, key)
        if (found === null) throw refusal('environment_not_found')
        await removeProposedHost(tx, key, params.host, principal, context.clock.now())
        return found
      })
      return answer(principal, row)
    },
    listExtensions: async () => ({ status: 200, body: await catalog.list() }),
    setDefaultEnvironment: async ({ principal, body }) => {
      const row = await setDefault(context, principal, body.id?.toLowerCase() ?? null)
      return { status: 200, body: { environment: row === null ? null : await show(principal, row) } }
    },
  }
}

const keyOf = (
  { organizationId }: Principal,
  { environmentId }: { readonly environmentId: string },
): EnvironmentKey => ({
  organizationId,
  environmentId,
})

const seenBy = (headers: { readonly 'if-match': string }): number => revisionOf(headers['if-match'])

/** The entity tag is what the next write names in `If-Match`. */
const tagged = ({ revision }: EnvironmentRow, headers: Readonly<Record<string, string>> = {}) => ({
  ...headers,
  etag: `"${revision}"`,
})
