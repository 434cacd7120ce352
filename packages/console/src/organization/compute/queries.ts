import type { AdmittedHost, Compute, OwnHost } from '@berth/contract'
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/queries.ts'

/** The machines that the organization may run on, its own among them. */
export const computeQuery = queryOptions({
  queryKey: ['organization-compute'],
  queryFn: () => call<Compute>('GET', 'compute'),
  // A machine dials in, or falls silent, without a word to the page.
  refetchInterval: 10_000,
})

export async function setRunsOn(runsOn: Compute['runsOn']): Promise<void> {
  queryClient.setQueryData(computeQuery.queryKey, await call<Compute>('PUT', 'compute', { runsOn }))
}

export async function admitHost(name: string, capacity: number | null): Promise<AdmittedHost> {
  const admitted = await call<AdmittedHost>('POST', 'compute/hosts', { name, ...(capacity !== null && { capacity }) })
  await queryClient.invalidateQueries({ queryKey: computeQuery.queryKey })
  return admitted
}

export async function markHost({ id }: OwnHost, mark: 'open' | 'cordoned' | 'drained'): Promise<void> {
  await call('PUT', `compute/hosts/${id}/mark`, { mark })
  await queryClient.invalidateQueries({ queryKey: computeQuery.queryKey })
}

export async function loseHost({ id }: OwnHost): Promise<void> {
  await call('POST', `compute/hosts/${id}/lost`)
  await queryClient.invalidateQueries({ queryKey: computeQuery.queryKey })
}

export async function removeHost({ id }: OwnHost): Promise<void> {
  await call('DELETE', `compute/hosts/${id}`)
  await queryClient.invalidateQueries({ queryKey: computeQuery.queryKey })
}
