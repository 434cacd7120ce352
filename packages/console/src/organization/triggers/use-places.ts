import { useQuery } from '@tanstack/react-query'
import { installationsQuery } from '../access/queries.ts'
import type { TriggerPlace } from './trigger-form.tsx'

/** Returns the live installations of an organization that may make Sessions, by the names that people gave them. */
export function usePlaces(organizationId: string) {
  return useQuery({
    ...installationsQuery(organizationId),
    select: (all): readonly TriggerPlace[] =>
      all
        .filter(
          ({ revokedAt, capabilities }) =>
            revokedAt === undefined && capabilities.includes('svc.cloud.sessions:create'),
        )
        .map(({ id, app, name }) => ({ id, name: name ?? app })),
  })
}
