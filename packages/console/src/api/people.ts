import { queryOptions, useQuery } from '@tanstack/react-query'
import { call } from './client.ts'
import { viewerQuery } from './identity.ts'

interface Members {
  readonly members: readonly { readonly person: { readonly id: string; readonly name: string } }[]
}

/** Names of the organization's people by id; empty for people who may not list them. */
const peopleQuery = (organizationId: string) =>
  queryOptions({
    queryKey: ['people', organizationId],
    staleTime: 5 * 60_000,
    queryFn: async (): Promise<Readonly<Record<string, string>>> => {
      try {
        const { members } = await call<Members>('GET', `account/organizations/${organizationId}/members`)
        return Object.fromEntries(members.map(({ person }) => [person.id, person.name]))
      } catch {
        return {}
      }
    },
  })

/** An installation or a person, as the API names whoever has done something. */
interface Doer {
  readonly kind: string
  readonly id: string
}

/** Returns a function that gives somebody's name, to begin a sentence with. */
export function useNameOf(): (doer: Doer) => string {
  const viewer = useQuery(viewerQuery).data
  const organizationId = viewer?.membership.organization.id ?? ''
  const people = useQuery({ ...peopleQuery(organizationId), enabled: organizationId !== '' }).data ?? {}
  return ({ kind, id }) => {
    if (kind !== 'person') return 'An installation'
    return id === viewer?.user.id ? 'You' : (people[id] ?? 'A colleague')
  }
}
