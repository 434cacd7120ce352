import { join } from 'node:path'
import { LOCAL_ACCOUNT, LocalHost } from '../../../src/git-hosts/local/local-host.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import type { TestService } from '../services/service.ts'
import { type Granted, grant } from './delivering.ts'
import { commitTo, sampleRepository, tipOf } from './repositories.ts'

/**
 * Makes a repository on this machine, and grants it to the test's installation.
 * @param files content by path at the top of the tree, beside the sample's own
 */
export async function localRepository(
  test: TestService,
  fullName: string,
  files: Readonly<Record<string, string>> = {},
): Promise<Granted & { readonly grantId: string }> {
  const root = join(test.dataDir, 'repositories')
  const host = new LocalHost(test.db.database, systemClock, root, () => test.url)
  const gitDir = await sampleRepository(root, fullName)
  await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), files)
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
  const repository = repositories.find(candidate => candidate.fullName === fullName)
  if (repository === undefined) throw new Error(`no ${fullName}`)
  const granted: Granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  return { ...granted, grantId: await grant(test, granted) }
}
