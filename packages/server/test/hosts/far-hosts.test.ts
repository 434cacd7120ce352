import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { Delivering, grant } from '../support/git/delivering.ts'
import { fileAt, sampleRepository } from '../support/git/repositories.ts'
import { HostProgram } from '../support/hosts/host-program.ts'
import { says } from '../support/models/scripted-upstream.ts'
import { endedRun, outcomeOf } from '../support/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '../support/services/gateway-service.ts'
import { until } from '../support/until.ts'

let service: GatewayService
let host: HostProgram
beforeAll(async () => {
  service = await startGatewayService({
    variables: {
      BERTH_ROLES: 'api,gateway,worker',
      BERTH_COMPUTE: 'remote',
      BERTH_HOSTS_PORT: '0',
      BERTH_LEASE_IDLE_SECONDS: '4',
    },
    models: { default: 'main/m1' },
  })
  host = await HostProgram.of(service.test)
  host.start()
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

const outputOf = async (sessionId: string, runId: string) => {
  const events = await service.test.api.runEnded(sessionId, runId)
  const activity = events.findLast(event => event.type === 'svc.activity.completed')
  return (activity?.data as { output?: string } | undefined)?.output
}
const idle = (sessionId: string) =>
  until('a sealed run', async () => (await service.test.api.session(sessionId)).phase === 'idle')
const turn = async (sessionId: string, script: string) => {
  const { run } = await service.test.api.submitTurn(sessionId, script)
  return { runId: run.id, output: () => outputOf(sessionId, run.id) }
}
const liveHosts = async () => {
  const { rows } = await service.test.db.database.query<{ host: string; driver: string }>(
    'select distinct host, driver from leases where ended_at is null',
  )
  return rows
}

describe('a service whose only host has dialled it', () => {
  it('runs a shell session there, seals it, and restores it into a fresh sandbox', async () => {
    const session = await service.test.api.createSession({ runtime: 'shell' }, 'echo kept > note; pwd')
    expect(await outputOf(session.id, session.activeRunId ?? '')).toBe('/workspace\n')
    expect(await liveHosts()).toEqual([{ host: host.id, driver: 'remote' }])
    // By this other workers leave it its share of the queue.
    const held = 'select from hosts h join processes p on p.id = h.connected_to where h.id = $1 and p.hands > 0'
    expect((await service.test.db.database.query({ text: held, values: [host.id] })).rowCount).toBe(1)
    await idle(session.id)
    await service.test.db.database.query({
      text: 'update leases set expires_at = now() where session_id = $1 and ended_at is null',
      values: [session.id],
    })
    await until('the lease has ended', async () => (await liveHosts()).length === 0)
    expect(await (await turn(session.id, 'cat note')).output()).toBe('kept\n')
  })

  it('runs a native session, whose requests to the model come back over the line', async () => {
    service.upstream.next(
      says({ calls: [{ name: 'bash', args: { command: 'echo from the far host' } }] }),
      says({ text: 'It said so.' }),
    )
    const session = await service.test.api.createSession({}, 'Say something')
    const run = await endedRun(service.test.api, session, session.activeRunId ?? '')
    expect(outcomeOf(run)).toBe('completed completed - 1')
    expect(run.run.result?.summary).toBe('It said so.')
  })

  it('goes on with a Run whose host is killed and started again', async () => {
    const session = await service.test.api.createSession(
      { runtime: 'shell' },
      'echo begun; while [ ! -e go ]; do sleep 0.1; done; echo over',
    )
    const runId = session.activeRunId ?? ''
    await until('it runs', async () => (await service.test.api.run(session.id, runId)).status === 'running')
    await host.stop('SIGKILL')
    host.start()
    await until('it is back', async () => {
      const { rows } = await service.test.db.database.query<{ epoch: string }>({
        text: 'select epoch from hosts where id = $1 and connected_to is not null',
        values: [host.id],
      })
      return Number(rows[0]?.epoch) >= 2
    })
    await service.test.api.call('POST', `/v1/sessions/${session.id}/runs/${runId}/cancel`)
    const events = await service.test.api.runEnded(session.id, runId)
    expect(events.filter(event => event.type === 'svc.run.started')).toHaveLength(1)
    expect(events.at(-1)?.type).toBe('svc.run.cancelled')
    await idle(session.id)
  })

  it('checks out a repository, whose objects it is sent, and delivers what was reviewed', async () => {
    const { test } = service
    const root = join(test.dataDir, 'repositories')
    const gitDir = await sampleRepository(root, 'sample/far')
    const local = new LocalHost(test.db.database, systemClock, root, () => test.url)
    const { repositories } = await local.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
    const repository = repositories.find(({ fullName }) => fullName === 'sample/far')
    if (repository === undefined) throw new Error('no repository')
    const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
    const source = { grantId: await grant(test, granted), repositoryId: repository.repositoryId }
    const session = await test.api.createSession({ runtime: 'shell', source }, 'echo new > added; ls')
    expect(await outputOf(session.id, session.activeRunId ?? '')).toContain('README.md')
    const delivering = await Delivering.of({ ...test, dataDir: host.dataDir }, session)
    const publication = await delivering.publish()
    expect(publication).toMatchObject({ status: 'succeeded' })
    expect(await fileAt(gitDir, publication.result?.commitSha ?? '', 'added')).toBe('new')
  })

  it('lets a frozen host go, and holds it again when it is back', async () => {
    const connected = async () => {
      const { rows } = await service.test.db.database.query<{ by: string | null }>({
        text: 'select connected_to as by from hosts where id = $1',
        values: [host.id],
      })
      return rows[0]?.by ?? null
    }
    host.signal('SIGSTOP')
    await until('it is let go', async () => (await connected()) === null)
    const session = await service.test.api.createSession({ runtime: 'shell' }, 'echo waited')
    host.signal('SIGCONT')
    await until('it is back', async () => (await connected()) !== null)
    expect(await outputOf(session.id, session.activeRunId ?? '')).toBe('waited\n')
  })

  it('lets no host in that has no valid token, and says why', async () => {
    await using stranger = await HostProgram.of(service.test, { BERTH_HOST_TOKEN: 'a-token-that-nobody-made' })
    stranger.start()
    expect(await stranger.ended()).toBe(1)
    expect(stranger.said).toContain('this token is not valid')
  })
})
