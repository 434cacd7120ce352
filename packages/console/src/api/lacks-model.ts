import { useQuery } from '@tanstack/react-query'
import { runtimesQuery } from './queries.ts'

/** Returns false for the agents of the service that are scripts: no model reads their messages. */
export const usesModel = (runtime: string | undefined): boolean => runtime !== 'shell' && runtime !== 'demo'

/**
 * Returns true once the service has said that it has no model, which is all that Berth's own agent can lack.
 * @param matters false if nothing depends on it: then nothing is fetched, and a known answer does not count
 */
export function useLacksModel(matters = true): boolean {
  const { data = [] } = useQuery({ ...runtimesQuery, enabled: matters })
  return matters && data.some(({ id, available }) => id === 'native' && !available)
}
