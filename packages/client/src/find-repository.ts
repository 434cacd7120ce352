import type { CallOptions } from './call-options.ts'
import type { BerthClient } from './client.ts'
import type { CreateSession, MissingAccount } from './generated/types.ts'

/** Where a Session starts from. */
export type SessionSource = NonNullable<CreateSession['source']>

/** Options of `findRepository`. */
export interface FindRepositoryOptions extends CallOptions {
  /** Branch to start from; the repository's default if absent. */
  readonly baseBranch?: string | undefined
  /** True with a token of a person, who may use the repositories of their organization. */
  readonly ofOrganization?: boolean
}

/** Thrown if a repository was not found while hosts did not answer that may have it. */
export class RepositoryNotListed extends Error {
  override readonly name = 'RepositoryNotListed'
  readonly missing: readonly MissingAccount[]

  constructor(fullName: string, missing: readonly MissingAccount[]) {
    super(`${fullName} is not listed now: ${missing.map(missingAccountText).join('; ')}; try again`)
    this.missing = missing
  }
}

/** Returns a text that says why an answer lacks the repositories of an account. */
export function missingAccountText({ provider, accountLogin, reason }: MissingAccount): string {
  const host = provider === accountLogin ? provider : `${provider} (account ${accountLogin})`
  if (reason === 'late') return `the Git host ${host} did not answer in time`
  if (reason === 'refused') return `the Git host ${host} no longer lets the service in`
  return `the Git host ${host} does not answer now (${reason})`
}

/**
 * Finds a granted repository by its current name, whatever the case, and returns it as the source of a Session; null if
 * no grant names it.
 *
 * @throws RepositoryNotListed if it was not found and hosts did not answer
 */
export async function findRepository(
  client: Pick<BerthClient, 'pages'>,
  fullName: string,
  { baseBranch, ofOrganization = false, ...call }: FindRepositoryOptions = {},
): Promise<SessionSource | null> {
  const wanted = fullName.toLowerCase()
  const missing: MissingAccount[] = []
  const operation = ofOrganization ? 'listOrganizationRepositories' : 'listRepositories'
  for await (const page of client.pages(operation, { query: { limit: 100 } }, call)) {
    const found = page.repositories.find(repository => repository.fullName.toLowerCase() === wanted)
    if (found !== undefined) {
      const { grantId, repositoryId } = found
      return { grantId, repositoryId, ...(baseBranch !== undefined && { baseBranch }) }
    }
    missing.push(...(page.missing ?? []).filter(({ retried }) => !retried))
  }
  if (missing.length > 0) throw new RepositoryNotListed(fullName, missing)
  return null
}
