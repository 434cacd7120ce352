import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import { endConnection, endGrant, type Grantee } from './grant-sql.ts'
import { type GrantedAccount, type GrantedRepository, listAccounts } from './granted-accounts.ts'
import { retryLostSources } from './lost-source.ts'

type Ending = Pick<Context, 'clock'> & { readonly db: Database }

/** The account, or the repository of it, that an id of `listAccounts` names. */
interface Named {
  readonly account: GrantedAccount
  readonly repository: GrantedRepository | undefined
}

/**
 * Ends an account with all its grants, or the grant of one repository; idempotent.
 * @throws StartError if the id names nothing, or one repository of an account that is granted whole
 */
export async function endGrants({ db, clock }: Ending, id: string): Promise<void> {
  const { account, repository } = await findNamed(db, id)
  if (repository === undefined) {
    await endConnection(db, account.id, clock.now())
    return
  }
  if (account.whole && repository.status === 'active') {
    throw new StartError(
      `${repository.fullName} comes with all of ${account.accountLogin} and would be granted again: revoke ${account.id} instead`,
    )
  }
  await revokeGrant({ db, clock }, account, id)
}

/**
 * Replaces a grant by another, or an account by another, for example after an App was installed anew. With an account,
 * each repository that both grant moves to the new one, and the old one ends. Sessions continue under the replacement.
 * Idempotent.
 * @returns the names of the repositories that moved
 * @throws StartError if the ids do not go together
 */
export async function replaceGrants({ db, clock }: Ending, id: string, byId: string): Promise<string[]> {
  return db.transaction(async tx => {
    const [old, by] = [await findNamed(tx, id), await findNamed(tx, byId)]
    const replaced: string[] = []
    for (const [{ grantId, fullName }, successor] of pairsOf(old, by)) {
      if (await replaceGrant(tx, old.account, grantId, successor.grantId)) replaced.push(fullName)
    }
    if (old.repository === undefined) await endConnection(tx, old.account.id, clock.now())
    return replaced
  })
}

/**
 * Ends a grant.
 * @returns true if it was active
 */
export function revokeGrant(
  { db, clock }: Pick<Context, 'clock'> & { readonly db: Queryable },
  grantee: Grantee,
  grantId: string,
): Promise<boolean> {
  return endGrant(db, grantee, grantId, { revokedAt: clock.now() })
}

/**
 * Replaces a grant by another, for example when a repository moves to another account. Sessions that were made under
 * the old grant continue under the new one.
 * @returns true if it was active
 */
export async function replaceGrant(db: Queryable, grantee: Grantee, grantId: string, by: string): Promise<boolean> {
  const replaced = await endGrant(db, grantee, grantId, { replacedBy: by })
  await retryLostSources(db, grantee.installationId)
  return replaced
}

type Pair = readonly [old: GrantedRepository, by: GrantedRepository]

/**
 * Pairs each replaced repository with its replacement.
 * @throws StartError if the ids do not go together
 */
function pairsOf(old: Named, by: Named): Pair[] {
  if ((old.repository === undefined) !== (by.repository === undefined)) {
    throw new StartError('replace a grant by a grant, or an account by an account')
  }
  if (old.account.installationId !== by.account.installationId) {
    throw new StartError('both must be grants of one installation')
  }
  if (nameOf(old) === nameOf(by)) throw new StartError(`${nameOf(by)} cannot replace itself`)
  if (by.account.status !== 'active' || (by.repository?.status ?? 'active') !== 'active') {
    throw new StartError(`${nameOf(by)} has ended`)
  }
  if (old.repository !== undefined && by.repository !== undefined) return [[old.repository, by.repository]]
  return old.account.repositories.flatMap(repository => {
    const successor = by.account.repositories.find(
      ({ repositoryId, status }) => repositoryId === repository.repositoryId && status === 'active',
    )
    return successor === undefined ? [] : [[repository, successor] as const]
  })
}

const nameOf = ({ account, repository }: Named): string => repository?.grantId ?? account.id

/**
 * Finds what an id of `listAccounts` names.
 * @throws StartError if it names nothing
 */
export async function findNamed(db: Queryable, id: string): Promise<Named> {
  const [account] = await listAccounts(db, { id })
  if (account === undefined) throw new StartError(`there is no grant ${id}; berth admin grant list shows them`)
  return { account, repository: account.repositories.find(({ grantId }) => grantId === id) }
}
