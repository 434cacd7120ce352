import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import { archiveSession } from './archive-session.ts'
import { cancelVerification } from './cancel-verification.ts'
import { createSession } from './create-session.ts'
import { forkSession } from './fork-session.ts'
import { releaseWorkspace } from './release-workspace.ts'
import { resetSession } from './reset-session.ts'
import { restoreWorkspace } from './restore-workspace.ts'
import { pageSessions, readSession } from './session/read-session.ts'
import { toSession } from './session/session.ts'
import { updateSession } from './update-session.ts'

type Operations =
  | 'listSessions'
  | 'getSession'
  | 'createSession'
  | 'updateSession'
  | 'archiveSession'
  | 'restoreWorkspace'
  | 'releaseWorkspace'
  | 'resetSession'
  | 'forkSession'
  | 'cancelVerification'

/** Serves Sessions over HTTP. */
export function sessionHandlers(context: Context): Pick<Handlers, Operations> {
  return {
    listSessions: async ({ principal, query }) => {
      const { limit, cursor, archived } = query
      const origin = {
        objectType: query['origin.objectType'],
        objectId: query['origin.objectId'],
        tenantKey: query['origin.tenantKey'],
      }
      const page = await pageSessions(context, principal, {
        limit,
        cursor,
        archived: archived === undefined ? 'no' : archived === 'true' ? 'both' : 'only',
        origin,
      })
      return { status: 200, body: page }
    },
    getSession: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const row = await readSession(context, principal, key)
      return { status: 200, body: { session: toSession(row, context) } }
    },
    createSession: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const { created, session } = await createSession(context, principal, key, body)
      const headers = { location: `/v1/sessions/${session.id}` }
      return { status: created ? 201 : 200, body: { session }, headers }
    },
    updateSession: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { session: await updateSession(context, principal, key, body) } }
    },
    archiveSession: async ({ principal, params, clientAddress }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      await archiveSession(context, principal, key, clientAddress)
      return { status: 204 }
    },
    restoreWorkspace: async ({ principal, params, signal }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { session: await restoreWorkspace(context, principal, key, signal) } }
    },
    releaseWorkspace: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      await releaseWorkspace(context, principal, key)
      return { status: 204 }
    },
    resetSession: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      return { status: 200, body: { session: await resetSession(context, principal, key) } }
    },
    cancelVerification: async ({ principal, params }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const verification = await cancelVerification(context, principal, key, params.verificationId)
      return { status: 200, body: { verification } }
    },
    forkSession: async ({ principal, params, body }) => {
      const key = { organizationId: principal.organizationId, sessionId: params.sessionId }
      const { created, session } = await forkSession(context, principal, key, body)
      return { status: created ? 201 : 200, body: { session }, headers: { location: `/v1/sessions/${session.id}` } }
    },
  }
}
