import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PortList, PortPreview } from '@berth/contract'
import { LOCAL_ACCOUNT, LocalHost } from '@berth/core/git-hosts/local/local-host.ts'
import { relayDoor } from '@berth/core/hosts/relay/relay-door.ts'
import { RelayTokens } from '@berth/core/hosts/relay/relay-tokens.ts'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { personToken, signInPerson, startSigner } from '@berth/testing/accounts/signer.ts'
import { Api } from '@berth/testing/api/api.ts'
import { askHost } from '@berth/testing/console/ask-host.ts'
import { TerminalClient, ticketOf } from '@berth/testing/console/terminal-client.ts'
import { CuttableLine } from '@berth/testing/faults/cuttable-line.ts'
import { Delivering, grant } from '@berth/testing/git/delivering.ts'
import { fileAt, sampleRepository } from '@berth/testing/git/repositories.ts'
import { HostProgram } from '@berth/testing/hosts/host-program.ts'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { says } from '@berth/testing/models/scripted-upstream.ts'
import { endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { type GatewayService, startGatewayService } from '@berth/testing/services/gateway-service.ts'
import { databaseUrl, testVariables } from '@berth/testing/services/service.ts'
import { startServiceProcess } from '@berth/testing/services/service-process.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let service: GatewayService
let host: HostProgram
/** What the host dials over. */
let line: CuttableLine
const key = randomBytes(32).toString('hex')
beforeAll(async () => {
  service = await startGatewayService({
    variables: {
      BERTH_MASTER_KEY: key,
      BERTH_ROLES: 'api,gateway,worker',
      BERTH_COMPUTE: 'remote',
      BERTH_HOSTS_PORT: '0',
      BERTH_RELAY_PORT: '0',
    },
    models: { default: 'main/m1' },
  })
  line = await CuttableLine.to(() => service.test.service.hostsPort ?? 0)
  host = await HostProgram.at(service.test.db.database, line.url)
  host.start()
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await line[Symbol.asyncDispose]()
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

/** Starts an API with the console in a process of its own, which holds no host, and signs a person in. */
async function anotherApi() {
  await using stack = new AsyncDisposableStack()
  const { test } = service
  const dataDir = await runDirectory('beside')
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const { url } = stack.use(
    await startServiceProcess({
      ...testVariables,
      DATABASE_URL: databaseUrl(test.db),
      BERTH_BLOBS: `file:${join(test.dataDir, 'blobs')}`,
      BERTH_MASTER_KEY: key,
      BERTH_ROLES: 'api',
      BERTH_AUTH_URL: test.url,
      BERTH_DATA_DIR: dataDir,
    }),
  )
  const { mint } = await startSigner(test.db.database, test.url, new MasterKey(Buffer.from(key, 'hex')))
  const token = await personToken(mint, await signInPerson(test.db.database, test.tenant.organizationId))
  const opened = stack.move()
  return { api: new Api(url, token), token, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

describe('a service whose only host has dialled it', () => {
  it('runs a shell session there, seals it, and restores it into a fresh sandbox', async () => {
    const session = await service.test.api.createSession({ runtime: 'shell' }, 'echo kept > note; pwd')
    expect(await outputOf(session.id, session.activeRunId ?? '')).toBe('/workspace\n')
    expect(await liveHosts()).toEqual([{ host: host.id, driver: 'remote' }])
    const held = 'select from hosts h join processes p on p.id = h.connected_to where h.id = $1'
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

  it('loses and repeats nothing when its line is cut during a seal, a restore and an answer', async () => {
    const { api, db } = service.test
    const session = await api.createSession(
      { runtime: 'shell' },
      'head -c 30000000 /dev/urandom > large; sha256sum large > sum',
    )
    await until('a seal', async () => (await api.session(session.id)).phase === 'finalizing')
    await line.cut(0)
    await idle(session.id)
    await db.database.query({
      text: 'update leases set expires_at = now() where session_id = $1 and ended_at is null',
      values: [session.id],
    })
    const states = async () => {
      const { rows } = await db.database.query<{ state: string }>({
        text: 'select state from leases where session_id = $1 order by created_at',
        values: [session.id],
      })
      return rows.map(({ state }) => state)
    }
    await until('the end of the lease', async () => !(await states()).some(state => state !== 'ended'))
    const before = (await states()).length
    const next = await turn(session.id, 'sha256sum -c sum; for n in $(seq 100); do echo $n; sleep 0.05; done')
    await until('a restore', async () => (await states()).length > before)
    await line.cut(0)
    await until('an answer', async () => (await api.run(session.id, next.runId)).status === 'running')
    await line.cut(0)
    const lines = Array.from({ length: 100 }, (_, n) => `${n + 1}\n`)
    expect(await next.output()).toBe(`large: OK\n${lines.join('')}`)
    const events = await api.runEnded(session.id, next.runId)
    const ends = events.filter(({ type, subject }) => type === 'svc.run.completed' && subject.runId === next.runId)
    expect(ends).toHaveLength(1)
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

  it('has its terminals and ports where people are, through whoever holds it', { timeout: 240_000 }, async () => {
    const { test } = service
    await using second = await anotherApi()
    const session = await second.api.createSession({ runtime: 'shell' }, 'echo by a Run > note')
    await second.api.runEnded(session.id, session.activeRunId ?? '')
    await until('the seal', async () => (await second.api.session(session.id)).phase === 'idle')
    await test.db.database.query({
      text: `update leases set expires_at = now() + interval '1 hour', idle_ms = 3600000 where session_id = $1`,
      values: [session.id],
    })
    // The process that holds the host has a way of its own; the other one goes through it.
    for (const [api, port] of [
      [new Api(test.url, second.token), 8123],
      [second.api, 8124],
    ] as const) {
      const ticketed = await api.call('POST', `/cloud/sessions/${session.id}/terminals`, {})
      await using terminal = await new TerminalClient(ticketOf(ticketed)).ready()
      terminal.type(
        `cat note; node -e "require('http').createServer((q, s) => s.end('at ' + q.url)).listen(${port})" &\r`,
      )
      await terminal.until(/by a Run\r/)
      const path = `/cloud/sessions/${session.id}/ports`
      await until('the port', async () => (await api.get<PortList>(path)).body.ports.includes(port))
      const { body } = await api.call<PortPreview>('POST', `${path}/${port}/preview`)
      const [cookie = ''] = (await askHost(body.url)).headers['set-cookie'] ?? []
      const seen = await askHost(new URL('/page', body.url), { headers: { cookie: cookie.split(';')[0] ?? '' } })
      expect([seen.status, seen.text]).toEqual([200, 'at /page'])
      const ended = terminal.end()
      await api.call('DELETE', `/cloud/terminals/${Object(ticketed.body).terminalId}`)
      expect(await ended).toBe('closed')
    }
    // An API process is given nothing else of the sandbox.
    const { rows } = await test.db.database.query<{ relay_url: string; id: string }>(
      'select p.relay_url, l.id from processes p, leases l where p.relay_url is not null and l.session_id = $1 limit 1',
      [session.id],
    )
    const [{ relay_url: url, id } = { relay_url: '', id: '' }] = rows
    const door = relayDoor(url, host.id, new RelayTokens(new MasterKey(Buffer.from(key, 'hex')), systemClock))
    const answerTo = async (order: object) => {
      const stream = await door.attach(id, AbortSignal.timeout(60_000))
      stream.write(`${JSON.stringify(order)}\n`)
      const [answer] = await Promise.race([once(stream, 'data'), once(stream, 'end'), once(stream, 'close')])
      stream.destroy()
      return String(answer ?? '')
    }
    expect(await answerTo({ port: { list: true } })).toMatch(/^\{"ports":/)
    expect(await answerTo({ hello: { fence: 1_000_000, from: 0 } })).not.toMatch('welcome')
    expect(await answerTo({ all: 'CONT' })).not.toMatch('CONT')
  })

  it('gives nobody its sandboxes who is not of the deployment', async () => {
    const { rows } = await service.test.db.database.query<{ relay_url: string; id: string }>(
      'select p.relay_url, l.id from processes p, leases l where p.relay_url is not null and l.host = $1 limit 1',
      [host.id],
    )
    const [{ relay_url: url, id } = { relay_url: '', id: '' }] = rows
    const forged = new RelayTokens(new MasterKey(randomBytes(32)), systemClock)
    const door = relayDoor(url, host.id, forged)
    await expect(door.attach(id, AbortSignal.timeout(60_000))).rejects.toThrow('answered 401')
    const own = new RelayTokens(new MasterKey(Buffer.from(key, 'hex')), systemClock)
    // A sandbox that has gone is told as gone, and a host that nobody holds as not held.
    const signal = AbortSignal.timeout(60_000)
    await expect(relayDoor(url, host.id, own).attach(randomUUID(), signal)).rejects.toThrow(SandboxGoneError)
    await expect(relayDoor(url, 'another', own).attach(id, signal)).rejects.toThrow('answered 503')
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
    expect(stranger.output).toContain('this token is not valid')
  })
})
