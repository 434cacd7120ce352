import { join } from 'node:path'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { grant } from '@berth/testing/git/delivering.ts'
import { sampleRepository } from '@berth/testing/git/repositories.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runGit } from '../../src/git/run-git.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service[Symbol.asyncDispose]())

/** Makes a repository with the branches `main`, which is the default, `spanish` and `third`. */
async function makeSource(fullName: string) {
  const root = join(service.dataDir, 'repositories')
  const gitDir = await sampleRepository(root, fullName)
  await runGit(['update-ref', 'refs/heads/third', 'refs/heads/main'], { gitDir })
  const host = new LocalHost(service.db.database, systemClock, root, () => service.url)
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
  const repository = repositories.find(candidate => candidate.fullName === fullName)
  if (repository === undefined) throw new Error(`no ${fullName}`)
  const grantId = await grant(service, {
    ...{ host: 'local', provider: 'local', account: LOCAL_ACCOUNT },
    ...{ repository, gitDir },
  })
  return { grantId, repositoryId: repository.repositoryId }
}

test("a branch reads its own cache or the default branch's, and writes its own alone", async () => {
  const [one, other] = [await makeSource('sample/one'), await makeSource('sample/other')]
  const setup =
    'cat /workspace/deps/branch; mkdir -p /workspace/deps; git branch --show-current >> /workspace/deps/branch'
  const { id } = await new Environments(service.api).make({ setup, cache: { paths: ['deps'] } })
  const run = async (source: object | null, baseBranch?: string) => {
    const from = source === null ? {} : { source: { ...source, ...(baseBranch && { baseBranch }) } }
    const session = await service.api.createSession({ runtime: 'shell', environment: { id }, ...from }, 'true')
    const events = await service.api.runEnded(session.id, session.activeRunId ?? '')
    const data = events.findLast(({ type }) => type === 'svc.environment.apply')?.data
    return [data?.['cache'], data?.['cache'] === 'hit' ? data['outputTail'] : null]
  }
  expect(await run(one, 'spanish')).toEqual(['miss', null])
  // Neither the default branch nor a third one reads what another branch saved.
  expect(await run(one, 'third')).toEqual(['miss', null])
  expect(await run(one)).toEqual(['miss', null])
  expect(await run(one, 'spanish')).toEqual(['hit', 'spanish\n'])
  await runGit(['update-ref', 'refs/heads/fourth', 'refs/heads/main'], {
    gitDir: join(service.dataDir, 'repositories/sample/one.git'),
  })
  expect(await run(one, 'fourth')).toEqual(['hit', 'main\n'])
  expect(await run(one, 'fourth')).toEqual(['hit', 'main\nfourth\n'])
  expect(await run(one)).toEqual(['hit', 'main\n'])
  // Another repository, and none, share nothing with it.
  expect(await run(other)).toEqual(['miss', null])
  expect(await run(null)).toEqual(['miss', null])
})
