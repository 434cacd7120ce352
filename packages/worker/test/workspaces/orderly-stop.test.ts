import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { isNewestWorkSealed } from '@berth/core/checkpoints/checkpoint-sql.ts'
import { Api } from '@berth/testing/api/api.ts'
import { activitiesOf, endedRun } from '@berth/testing/runs/ended-run.ts'
import { databaseUrl, startTestService, type TestService, testVariables } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { leaseOf, touch } from '@berth/testing/workspaces/workspace.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'

let test: TestService
beforeEach(async () => {
  test = await startTestService({ fixed: { stopGivesBack: true } })
})
afterEach(() => test[Symbol.asyncDispose]())

async function sealed(command: string): Promise<Session> {
  const session = await test.api.createSession({ runtime: 'shell' }, command)
  await endedRun(test.api, session, session.activeRunId ?? '')
  const key = { organizationId: session.organizationId, sessionId: session.id }
  await until('the seal', () => isNewestWorkSealed(test.db.database, key))
  return session
}

const sandboxes = () => readdir(join(test.dataDir, 'leases'))

it('an orderly stop gives back what rests with sealed work, and leaves what works', async () => {
  const rests = await sealed('echo kept > note')
  const works = await test.api.createSession({ runtime: 'shell' }, 'while ! test -e go; do sleep 0.1; done; echo went')
  const working = await until('a lease', () => leaseOf(test.db.database, works).catch(() => undefined))
  await until('a run at work', async () =>
    (await test.api.events(works.id)).some(({ type }) => type === 'svc.run.started'),
  )
  const resting = await leaseOf(test.db.database, rests)

  await test.service.close()
  expect(await sandboxes()).toContain(working)
  expect(await sandboxes()).not.toContain(resting)

  await using next = await startServiceProcess({
    ...testVariables,
    BERTH_DATA_DIR: test.dataDir,
    DATABASE_URL: databaseUrl(test.db),
  })
  const api = new Api(next.url, test.tenant.apiKey)
  expect(await api.session(rests.id)).toMatchObject({
    workspace: { state: 'expired' },
    continuation: { state: 'restorable', canContinue: true },
  })
  await touch(test.db.database, test.dataDir, works, 'go')
  expect(activitiesOf(await endedRun(api, works, works.activeRunId ?? ''))).toMatchObject([{ output: 'went\n' }])
  const again = await api.submitTurn(rests.id, 'cat note')
  expect(activitiesOf(await endedRun(api, rests, again.run.id))).toMatchObject([{ output: 'kept\n' }])
})

it('a stop beside another process of the data directory gives nothing back', async () => {
  const session = await sealed('echo kept > note')
  const lease = await leaseOf(test.db.database, session)
  await using _other = await startServiceProcess({
    ...testVariables,
    BERTH_ROLES: 'api',
    BERTH_DATA_DIR: test.dataDir,
    DATABASE_URL: databaseUrl(test.db),
  })
  await test.service.close()
  expect(await sandboxes()).toContain(lease)
})
