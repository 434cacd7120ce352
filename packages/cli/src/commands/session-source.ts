import { findRepository, type RepositoryOperations, type SessionSource } from '@berth/client'
import { UsageError } from '../failure.ts'

/**
 * Returns a granted repository as the source of a Session.
 * @throws UsageError if no grant names it
 */
export async function sourceOf(
  repositories: RepositoryOperations,
  fullName: string,
  baseBranch: string | undefined,
): Promise<SessionSource> {
  const found = await findRepository(repositories, fullName, { baseBranch })
  if (found !== null) return found
  throw new UsageError(`no repository ${fullName} is granted; operators grant it with \`berth admin grant add\``)
}
