import { join } from 'node:path'
import type { FollowUp } from '@berth/contract'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { recordCheck } from '@berth/server/admin/repositories.ts'
import { Delivering, type Granted, grant } from '@berth/testing/git/delivering.ts'
import { fileAt, sampleRepository } from '@berth/testing/git/repositories.ts'
import { databaseUrl, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

let test: TestService
beforeAll(async () => {
  // bound: a pause between two looks
  test = await startTestService({ fixed: { mergeCheckMs: 1000 } })
})
afterAll(() => test[Symbol.asyncDispose]())

/** Its first Run makes a mistake, which a Turn about failed checks mends. */
const agent = `cd /workspace/project
echo "\${FOLLOW_UP_CAUSE:-mistake}" > made.txt
case "$FOLLOW_UP_TEXT" in *'made.txt is wrong'*) echo told >> made.txt;; esac`

it('mends a failed check of a local pull request, and merges exactly what was published', async () => {
  const gitDir = await sampleRepository(join(test.dataDir, 'repositories'), 'sample/followed')
  const host = new LocalHost(test.db.database, systemClock, join(test.dataDir, 'repositories'), () => test.url)
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
  const repository = repositories.find(({ fullName }) => fullName === 'sample/followed')
  if (repository === undefined) throw new Error('the repository is not there')
  const granted: Granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  const source = { grantId: await grant(test, granted), repositoryId: repository.repositoryId }
  const at = await Delivering.of(test, await test.api.createSession({ runtime: 'shell', source }, agent))
  const first = await at.publish({ followUp: { merge: 'when_ready' } })
  const path = at.path(`/publications/${first.id}/follow-up`)
  const read = async () => (await test.api.get<{ followUp: FollowUp }>(path)).body.followUp
  expect(await read()).toMatchObject({ state: 'watching', attempts: 0 })
  const operator = { BERTH_DATA_DIR: test.dataDir, DATABASE_URL: databaseUrl(test.db) }
  const report = (oid: string, state: 'failure' | 'success') =>
    recordCheck(operator, 'sample/followed', { oid, name: 'test', state, output: 'made.txt is wrong' })
  const { commitSha = '' } = first.result ?? {}
  await report(commitSha, 'failure')
  const mended = await until('the work of the Turn', async () => {
    const followUp = await read()
    return followUp.attempts === 1 && followUp.state === 'watching' && followUp
  })
  expect(mended.history).toMatchObject([{ cause: 'checks' }])
  expect(mended.headSha).not.toBe(commitSha)
  await report(mended.headSha ?? '', 'success')
  await until('the merge', async () => (await read()).state === 'merged')
  expect(await fileAt(gitDir, 'main', 'made.txt')).toBe('checks\ntold')
  const types = (await test.api.events(at.session.id)).map(({ type }) => type)
  expect(types.filter(type => type.startsWith('svc.followup.'))).toEqual([
    'svc.followup.started',
    'svc.followup.attempted',
    'svc.followup.ended',
  ])
  await until('a sandbox that is given back', async () => {
    return (await test.api.session(at.session.id)).workspace.state === 'expired'
  })
})
