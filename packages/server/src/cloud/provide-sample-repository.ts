import { randomUUID } from 'node:crypto'
import type { Repository } from '@berth/contract'
import { appendAudit } from '@berth/core/accounts/audit/append.ts'
import { personEntry } from '@berth/core/accounts/audit/person-entry.ts'
import { provideOwnInstallation } from '@berth/core/accounts/installations/own-installation.ts'
import type { Context } from '@berth/core/context.ts'
import { GitHostError } from '@berth/core/git-hosts/git-host.ts'
import { LOCAL_ACCOUNT, LOCAL_HOST, LocalHost } from '@berth/core/git-hosts/local/local-host.ts'
import type { PersonPrincipal } from '@berth/core/identity/guard/principal.ts'
import { connectAccount } from '@berth/core/repositories/connect-account.ts'
import { findGranted, type Grantee, upsertGrants } from '@berth/core/repositories/grant-sql.ts'
import { listAccounts } from '@berth/core/repositories/granted-accounts.ts'
import { hostRefusal } from '@berth/core/repositories/host-refusal.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

const ENDED = 'The access to the sample repository was removed. An administrator of the organization can make it again.'

/**
 * Makes the organization's sample repository on the local Git host, and grants the organization that one alone: the others
 * of the data directory may belong to other organizations. Any member may, until somebody ends the connection or the grant:
 * from then on only an administrator makes it again.
 * @throws ApiError 403 `cloud_repository_grant_required` if it was ended, and the person is no administrator
 * @throws ApiError 503 if the data directory cannot be written
 */
export async function provideSampleRepository(
  context: Context,
  person: PersonPrincipal,
  clientAddress: string,
): Promise<Repository> {
  const { db, clock, gitHosts } = context
  const { organizationId } = person
  const name = { owner: `sample-${organizationId.replaceAll('-', '').slice(0, 12)}`, repository: 'greeter' }
  const sampleName = `${name.owner}/${name.repository}`
  const refuseEnded = async (tx: Queryable, grantee: Grantee) => {
    const own = (await listAccounts(tx, grantee)).filter(
      ({ host, account }) => host === LOCAL_HOST && account === LOCAL_ACCOUNT,
    )
    const samples = own.flatMap(({ repositories }) => repositories).filter(({ fullName }) => fullName === sampleName)
    if (samples.some(({ status }) => status === 'active') || person.role === 'admin') return
    const wasEnded = [...own, ...samples].some(({ status }) => status === 'revoked')
    if (wasEnded) throw refusal('cloud_repository_grant_required', { message: ENDED })
  }
  const host = gitHosts.find(LOCAL_HOST)
  if (!(host instanceof LocalHost)) throw new Error('every deployment has the local host')
  try {
    const installation = await db.transaction(tx => provideOwnInstallation({ db: tx, clock }, organizationId))
    const grantee = { organizationId, installationId: installation.id }
    // Before anything is made: whoever is refused leaves nothing behind.
    await refuseEnded(db, grantee)
    const ref = await host.provideSample(name.owner, name.repository)
    const { repositoryId, fullName, ...shown } = await host.readRepository(ref)
    const grantId = await db.transaction(async tx => {
      const account = { host: LOCAL_HOST, provider: host.kind, account: LOCAL_ACCOUNT, accountLogin: LOCAL_ACCOUNT }
      const connection = await connectAccount({ db: tx, clock }, grantee, account, false)
      const granted = async () => (await findGranted(tx, connection.id, [repositoryId]))[0]?.id
      const known = await granted()
      if (known !== undefined) return known
      // Read after the connection is made: whoever ends the old one meanwhile has committed by then.
      await refuseEnded(tx, grantee)
      await upsertGrants(tx, connection, [{ id: randomUUID(), repositoryId, fullName }], clock.now())
      const audited = { target: `connection ${connection.id}`, details: { host: LOCAL_HOST, repository: fullName } }
      await appendAudit(tx, personEntry(person, clientAddress, 'connection.added', audited), clock.now())
      const made = await granted()
      if (made === undefined) throw new Error('a grant was made that is not there')
      return made
    })
    const { private: hidden, defaultBranch, htmlUrl } = shown
    return { grantId, repositoryId, provider: host.kind, fullName, private: hidden, defaultBranch, htmlUrl }
  } catch (error) {
    throw error instanceof GitHostError ? hostRefusal(error) : error
  }
}
