import type { CallOptions } from './call-options.ts'
import type { RepositoryOperations } from './delivery-operations.ts'
import type { CreateSession } from './generated/types.ts'

/** Where a Session starts from. */
export type SessionSource = NonNullable<CreateSession['source']>

/** Options of `findRepository`. */
export interface FindRepositoryOptions extends CallOptions {
  /** Branch to start from; the repository's default if absent. */
  readonly baseBranch?: string | undefined
}

/**
 * Finds a granted repository by its current name, whatever the case, and returns it as the source of a Session; null if
 * no grant names it. People look among `client.cloud.repositories`, installations among `client.repositories`.
 */
export async function findRepository(
  repositories: Pick<RepositoryOperations, 'list'>,
  fullName: string,
  { baseBranch, ...call }: FindRepositoryOptions = {},
): Promise<SessionSource | null> {
  const wanted = fullName.toLowerCase()
  for (let cursor: string | null = null; ; ) {
    const page = await repositories.list({ limit: 100, ...(cursor !== null && { cursor }) }, call)
    const found = page.repositories.find(repository => repository.fullName.toLowerCase() === wanted)
    if (found !== undefined) {
      const { grantId, repositoryId } = found
      return { grantId, repositoryId, ...(baseBranch !== undefined && { baseBranch }) }
    }
    if (!page.hasMore || page.nextCursor === null) return null
    cursor = page.nextCursor
  }
}
