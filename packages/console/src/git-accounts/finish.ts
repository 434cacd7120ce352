import { queryClient } from '../api/queries.ts'
import { finishConnection, gitAccountsQuery } from './queries.ts'

/** The outcome of a connection that keeps the browser on this page. */
export type Outcome =
  | { readonly kind: 'denied' }
  /** The address has no answer of a host. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Finishes the connection that the fragment of the address tells of, and leaves for where it was begun. */
export async function finish(fragment: string): Promise<Outcome> {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''))
  const [state, code] = [parameters.get('state'), parameters.get('code')]
  if (parameters.has('error')) return { kind: 'denied' }
  if (state === null || code === null) return { kind: 'nothing' }
  try {
    const { returnTo } = await finishConnection({ state, code })
    queryClient.removeQueries({ queryKey: gitAccountsQuery.queryKey })
    location.replace(returnTo)
    return await new Promise<never>(() => undefined)
  } catch (error) {
    return { kind: 'failed', error }
  }
}
