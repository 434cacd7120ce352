import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../../context.ts'
import type { Handlers } from '../../http/routing/handler.ts'
import { endConnection, setPersonal } from '../../repositories/grant-sql.ts'
import { type GrantedAccount, listAccounts } from '../../repositories/granted-accounts.ts'
import { appendAudit } from '../audit/append.ts'
import { personEntry } from '../audit/person-entry.ts'
import { findOwnInstallation, provideOwnInstallation } from '../installations/own-installation.ts'
import { requireOwn } from '../organizations/require-own.ts'
import { toAccount, toConnection } from './connection.ts'
import { shareAccount } from './share-account.ts'

/** The operations by which administrators connect their organization itself to accounts of Git hosts. */
export function connectionHandlers({
  db,
  clock,
  gitHosts,
}: Pick<Context, 'db' | 'clock' | 'gitHosts'>): Pick<
  Handlers,
  'listConnections' | 'addConnection' | 'updateConnection' | 'removeConnection'
> {
  return {
    listConnections: async ({ principal, params: { organizationId } }) => {
      requireOwn(principal, organizationId)
      const own = await findOwnInstallation(db, organizationId)
      const live = (await listAccounts(db, { organizationId })).filter(({ status }) => status === 'active')
      const [connected, others] = [live.filter(isOf(own)), live.filter(account => !isOf(own)(account))]
      const available = new Map(others.map(account => [nameOf(account), account]))
      for (const account of connected) available.delete(nameOf(account))
      const body = { connections: connected.map(toConnection), available: [...available.values()].map(toAccount) }
      return { status: 200, body: { success: true, ...body } }
    },

    addConnection: async ({ principal, params: { organizationId }, body, clientAddress }) => {
      requireOwn(principal, organizationId)
      const connection = await db.transaction(async tx => {
        const { id: installationId } = await provideOwnInstallation({ db: tx, clock }, organizationId)
        const id = await shareAccount({ db: tx, clock }, { organizationId, installationId }, body)
        const audited = { target: `connection ${id}`, details: { host: body.host, account: body.account } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'connection.added', audited), clock.now())
        return (await listAccounts(tx, { id }))[0]
      })
      if (connection === undefined) throw new Error('a connection was added that is not there')
      return { status: 201, body: { success: true, connection: toConnection(connection) } }
    },

    updateConnection: async ({ principal, params: { organizationId, connectionId }, body, clientAddress }) => {
      requireOwn(principal, organizationId)
      const { personalAccess } = body
      const connection = await db.transaction(async tx => {
        const own = await findOwnInstallation(tx, organizationId)
        const [found] = (await listAccounts(tx, { organizationId, id: connectionId })).filter(isOf(own))
        if (found?.id !== connectionId || found.status !== 'active') throw refusal('connection_not_found')
        if (personalAccess && gitHosts.find(found.host)?.people === undefined) throw refusal('git_host_not_found')
        await setPersonal(tx, connectionId, personalAccess)
        const audited = { target: `connection ${connectionId}`, details: { personalAccess } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'connection.changed', audited), clock.now())
        return { ...found, personal: personalAccess }
      })
      return { status: 200, body: { success: true, connection: toConnection(connection) } }
    },

    removeConnection: async ({ principal, params: { organizationId, connectionId }, clientAddress }) => {
      requireOwn(principal, organizationId)
      await db.transaction(async tx => {
        const own = await findOwnInstallation(tx, organizationId)
        const [found] = (await listAccounts(tx, { organizationId, id: connectionId })).filter(isOf(own))
        if (found?.id !== connectionId) throw refusal('connection_not_found')
        if (!(await endConnection(tx, connectionId, clock.now()))) return
        const audited = { target: `connection ${connectionId}`, details: { host: found.host, account: found.account } }
        await appendAudit(tx, personEntry(principal, clientAddress, 'connection.removed', audited), clock.now())
      })
      return { status: 204 }
    },
  }
}

const isOf =
  (installationId: string | null) =>
  (account: GrantedAccount): boolean =>
    account.installationId === installationId

const nameOf = ({ host, account }: GrantedAccount): string => `${host} ${account}`
