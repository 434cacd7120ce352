import type { CreateSession, RepositoryOperations } from '@berth/client'
import { UsageError } from '../failure.ts'

/**
 * Finds a granted repository by its current name and returns it as the source of a Session.
 * @throws UsageError if no grant names it
 */
export async function findRepository(
  repositories: RepositoryOperations,
  fullName: string,
  baseBranch: string | undefined,
): Promise<NonNullable<CreateSession['source']>> {
  for (let cursor: string | null = null; ; ) {
    const page = await repositories.list({ limit: 100, ...(cursor !== null && { cursor }) })
    const found = page.repositories.find(repository => repository.fullName.toLowerCase() === fullName.toLowerCase())
    if (found !== undefined) {
      const { grantId, repositoryId } = found
      return { grantId, repositoryId, ...(baseBranch !== undefined && { baseBranch }) }
    }
    if (!page.hasMore || page.nextCursor === null) {
      throw new UsageError(`no repository ${fullName} is granted; operators grant it with \`berth admin grant add\``)
    }
    cursor = page.nextCursor
  }
}
