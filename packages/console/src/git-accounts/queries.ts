import type { GitConnection, GitConnectionList, GitConnectionMade } from '@berth/contract'
import { queryOptions, useMutation } from '@tanstack/react-query'
import { call } from '../api/client.ts'

/** The person's own accounts at Git hosts, and the hosts where there could be more. */
export const gitAccountsQuery = queryOptions({
  queryKey: ['git-accounts'],
  queryFn: () => call<GitConnectionList>('GET', 'git-connections'),
})

/** Leaves for a Git host, which asks the person and sends the browser back to a path of this page. */
export function useConnectAccount(returnTo: string) {
  return useMutation({
    mutationFn: (host: string) => call<{ url: string }>('POST', 'git-connections', { host, returnTo }),
    onSuccess: ({ url }) => location.assign(url),
  })
}

/** Finishes a connection with the parameters of the host's redirect. @throws BerthError if the service refuses */
export const finishConnection = (callback: { readonly state: string; readonly code: string }) =>
  call<GitConnectionMade>('POST', 'git-connections/callback', callback)

/** Ends a connection. @throws BerthError if the service refuses */
export const disconnectAccount = ({ id }: Pick<GitConnection, 'id'>): Promise<unknown> =>
  call('DELETE', `git-connections/${id}`)
