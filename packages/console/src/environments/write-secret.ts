import type { Environment } from '@berth/client'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { environmentQuery } from './queries.ts'

/** Writes with the newest revision: a secret is one member, so another person's revision is no reason to refuse. */
export async function withNewest(id: string, write: (seen: number) => Promise<{ readonly environment: Environment }>) {
  const { environment: newest } = await berth.call('getEnvironment', { environmentId: id })
  return (await write(newest.revision)).environment
}

/** Shows an environment as it was saved. */
export function keepSaved(environment: Environment): void {
  queryClient.setQueryData(environmentQuery(environment.id).queryKey, environment)
  void queryClient.invalidateQueries({ queryKey: ['environment', environment.id, 'revisions'] })
}
