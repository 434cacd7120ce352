import { LOCAL_ACCOUNT, LocalHost } from '@berth/core/git-hosts/local/local-host.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import type { Tenant } from '../api/tenant.ts'
import { grantRepository } from '../git/grants.ts'
import { sampleRepository } from '../git/repositories.ts'

const GREETER = 'sample/greeter'

/** The source of a Session on a repository. */
export interface RepositorySource {
  readonly grantId: string
  readonly repositoryId: string
}

/** Makes a repository below a directory that every worker sees, and grants it to an installation. */
export async function makeSource(db: PooledDatabase, tenant: Tenant, root: string): Promise<RepositorySource> {
  await sampleRepository(root, GREETER)
  const host = new LocalHost(db, systemClock, root, () => 'http://127.0.0.1')
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
  const repository = repositories.find(({ fullName }) => fullName === GREETER)
  if (repository === undefined) throw new Error(`there is no ${GREETER}`)
  const account = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, accountLogin: LOCAL_ACCOUNT }
  const { id } = await grantRepository(db, tenant, account, repository)
  return { grantId: id, repositoryId: repository.repositoryId }
}
