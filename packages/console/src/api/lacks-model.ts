import { useQuery } from '@tanstack/react-query'
import { runtimesQuery } from './queries.ts'

/** Returns true once the service has said that it has no model, which is all that Berth's own agent can lack. */
export const useLacksModel = (enabled = true): boolean =>
  useQuery({ ...runtimesQuery, enabled }).data?.some(({ id, available }) => id === 'native' && !available) ?? false
