import type { Connection } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'

/** An account of a Git host. */
export type GitAccount = Pick<Connection, 'host' | 'provider' | 'account' | 'accountLogin'>

interface Connections {
  readonly connections: readonly Connection[]
  /** Accounts that an app of the organization reaches, and its people do not. */
  readonly available: readonly GitAccount[]
}

const pathOf = (organizationId: string): string => `account/organizations/${organizationId}/connections`

/** The organization's connections, and the possible ones. */
export const connectionsQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['organization', organizationId, 'connections'],
    queryFn: () => call<Connections>('GET', pathOf(organizationId)),
  })

/** Connects the organization to an account. @throws BerthError if the service refuses */
export const connect = (organizationId: string, { host, account }: GitAccount): Promise<unknown> =>
  call('POST', pathOf(organizationId), { host, account })

/** Ends a connection. @throws BerthError if the service refuses */
export const disconnect = (organizationId: string, connectionId: string): Promise<unknown> =>
  call('DELETE', `${pathOf(organizationId)}/${connectionId}`)

/** Says whether people need access of their own. @throws BerthError if the service refuses */
export const changeAccess = (organizationId: string, connectionId: string, personalAccess: boolean): Promise<unknown> =>
  call('PATCH', `${pathOf(organizationId)}/${connectionId}`, { personalAccess })
