import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import { toConnection } from '@berth/core/accounts/connections/connection.ts'
import type { Context } from '@berth/core/context.ts'
import type { Handlers } from '@berth/core/http/routing/handler.ts'
import { deleteHostPerson, listHostPeople } from '@berth/core/repositories/people/host-person-sql.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { connectOwnAccount, listOwnAccounts } from './connect-organization.ts'
import { beginConnection, finishConnection, revokeTokens, toGitConnection } from './connect-person.ts'

type Operations =
  | 'listGitConnections'
  | 'beginGitConnection'
  | 'finishGitConnection'
  | 'removeGitConnection'
  | 'listGitAccounts'
  | 'connectGitAccount'

/** Serves people's own accounts at Git hosts, and the connections that they make for their organization. */
export function gitConnectionHandlers(context: Context): Pick<Handlers, Operations> {
  const { db, clock, gitHosts } = context
  return {
    listGitConnections: async ({ principal }) => {
      const connections = (await listHostPeople(db, principal.id)).map(toGitConnection)
      const hosts = gitHosts.withPeople.map(({ id, kind }) => ({ host: id, provider: kind }))
      return { status: 200, body: { connections, hosts } }
    },

    beginGitConnection: async ({ browser, body }) => ({
      status: 200,
      body: { url: await beginConnection(context, { browser }, body) },
    }),

    finishGitConnection: async ({ principal, browser, body, clientAddress }) => ({
      status: 200,
      body: await finishConnection(context, { person: principal, browser, clientAddress }, body),
    }),

    removeGitConnection: async ({ principal, params: { gitConnectionId }, clientAddress }) => {
      const removed = await db.transaction(async tx => {
        const row = await deleteHostPerson(tx, principal.id, gitConnectionId)
        if (row === null) throw refusal('connection_not_found')
        const audited = { target: `git account ${row.id}`, details: { host: row.host, login: row.login } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'git_account.disconnected', audited), clock.now())
        return row
      })
      await revokeTokens(context, removed)
      return { status: 204 }
    },

    listGitAccounts: async ({ principal, params: { gitConnectionId } }) => ({
      status: 200,
      body: await listOwnAccounts(context, principal, gitConnectionId),
    }),

    connectGitAccount: async ({ principal, params: { gitConnectionId }, body, clientAddress }) => {
      const made = await connectOwnAccount(context, { person: principal, clientAddress }, gitConnectionId, body)
      return { status: 201, body: { success: true, connection: toConnection(made) } }
    },
  }
}
