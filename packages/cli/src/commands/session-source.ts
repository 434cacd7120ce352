import { findRepository, type SessionSource } from '@berth/client'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'

/**
 * Returns a granted repository as the source of a Session. People use the repositories of their organization.
 * @throws UsageError if no grant names it
 */
export async function sourceOf(
  { client, connection }: CommandIo,
  fullName: string,
  baseBranch: string | undefined,
): Promise<SessionSource> {
  const found = await findRepository(client, fullName, {
    baseBranch,
    ofOrganization: connection.origin.kind === 'profile',
  })
  if (found !== null) return found
  throw new UsageError(`no repository ${fullName} is granted; operators grant it with \`berth admin grant add\``)
}
