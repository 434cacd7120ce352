import { join } from 'node:path'
import { LOCAL_ACCOUNT, LocalHost } from '@berth/core/git-hosts/local/local-host.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import type { TestService } from '../services/service.ts'
import { type Granted, grant } from './delivering.ts'
import { commitTo, emptyRepository, sampleRepository, tipOf } from './repositories.ts'

/**
 * Makes a repository on this machine, and grants it to the test's installation.
 * @param files content by path at the top of the tree, beside the sample's own
 */
export async function localRepository(
  test: TestService,
  fullName: string,
  files: Readonly<Record<string, string>> = {},
): Promise<Granted & { readonly grantId: string }> {
  const gitDir = await sampleRepository(join(test.dataDir, 'repositories'), fullName)
  await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), files)
  return grantLocalRepository(test, fullName, gitDir)
}

/** Makes a repository without a commit on this machine, and grants it to the test's installation. */
export async function emptyLocalRepository(test: TestService, fullName: string, branch = 'main') {
  const gitDir = await emptyRepository(join(test.dataDir, 'repositories'), fullName, branch)
  return grantLocalRepository(test, fullName, gitDir)
}

async function grantLocalRepository(
  test: TestService,
  fullName: string,
  gitDir: string,
): Promise<Granted & { readonly grantId: string }> {
  const host = new LocalHost(test.db.database, systemClock, join(test.dataDir, 'repositories'), () => test.url)
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
  const repository = repositories.find(candidate => candidate.fullName === fullName)
  if (repository === undefined) throw new Error(`no ${fullName}`)
  const granted: Granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  return { ...granted, grantId: await grant(test, granted) }
}
