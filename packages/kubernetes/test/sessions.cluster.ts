import { listPodHosts } from '@berth/core/hosts/pod-host-sql.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { realCluster, workerSettings } from '@berth/testing/kubernetes/real-cluster.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import type { TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let gateway: GatewayService
let service: TestService
beforeAll(async () => {
  const { variables, fixed } = workerSettings(realCluster())
  gateway = stack.use(
    await startGatewayService({
      models: { default: 'main/m1' },
      variables: { BERTH_ROLES: 'api,gateway,worker', ...variables },
      fixed,
    }),
  )
  service = gateway.test
})
afterAll(() => stack.disposeAsync())

const podHosts = () => listPodHosts(service.db.database, 'berth/berth-sandboxes')
const outputOf = async (sessionId: string, runId: string | null | undefined) => {
  const events = await service.api.runEnded(sessionId, runId ?? '')
  const activity = events.findLast(event => event.type === 'svc.activity.completed')
  return (activity?.data as { output?: string } | undefined)?.output
}
const sealed = (id: string) => until('it is sealed', async () => (await service.api.session(id)).phase === 'idle')

it('keeps as many pods waiting as the chart says', async () => {
  const waiting = async () =>
    (await podHosts()).filter(host => host.isConnected && host.cordonedAt === null && host.leases === 0).length
  await expect.poll(waiting).toBe(2)
})

it('runs a Session of the shell, one with a model and one with a repository, each in a pod of its own', async () => {
  const { grantId, repository } = await localRepository(service, 'sample/pods', { 'note.md': 'of the repository\n' })
  const shell = await service.api.createSession({ runtime: 'shell' }, 'echo one > note; cat note; id -u')
  expect(await outputOf(shell.id, shell.activeRunId)).toBe('one\n10002\n')

  gateway.upstream.next(
    says({ calls: [{ name: 'bash', args: { command: 'echo from a pod' } }] }),
    says({ text: 'Done.' }),
  )
  const native = await service.api.createSession({ runtime: 'native' }, 'Look.')
  expect(await outputOf(native.id, native.activeRunId)).toContain('from a pod')

  const source = { grantId, repositoryId: repository.repositoryId }
  const script = 'cd /workspace/project && cat note.md && echo more >> note.md && git status --short'
  const checkedOut = await service.api.createSession({ runtime: 'shell', source }, script)
  expect(await outputOf(checkedOut.id, checkedOut.activeRunId)).toBe('of the repository\n M note.md\n')

  const ids = [shell, native, checkedOut].map(({ id }) => id)
  for (const id of ids) await sealed(id)
  const { run } = await service.api.submitTurn(shell.id, 'cat note')
  expect(await outputOf(shell.id, run.id)).toBe('one\n')
  const { rows } = await service.db.database.query<{ host: string }>({
    text: 'select host from leases where session_id = any($1)',
    values: [ids],
  })
  const known = (await podHosts()).map(({ id }) => id)
  expect(new Set(rows.map(({ host }) => host)).size).toBe(3)
  for (const { host } of rows) expect(known).toContain(host)
})

it('gives each of several Sessions that are archived at once a pod of its own', async () => {
  const hosts: string[] = []
  for (let n = 0; n < 3; n += 1) {
    const { id, activeRunId } = await service.api.createSession({ runtime: 'shell' }, 'true')
    expect((await service.api.runEnded(id, activeRunId ?? '')).at(-1)?.type).toBe('svc.run.completed')
    expect(await service.api.run(id, activeRunId ?? '')).toMatchObject({ attempts: 1 })
    const { rows } = await service.db.database.query<{ host: string }>({
      text: 'select host from leases where session_id = $1',
      values: [id],
    })
    hosts.push(...rows.map(({ host }) => host))
    await sealed(id)
    expect((await service.api.call('DELETE', `/v1/sessions/${id}`)).status).toBe(204)
  }
  expect(new Set(hosts).size).toBe(3)
})
