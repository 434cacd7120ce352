import { randomUUID } from 'node:crypto'
import type { Environment, PortList, PortPreview, Session } from '@berth/contract'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { askHost } from '@berth/testing/console/ask-host.ts'
import { ConsolePage, personWithPassword } from '@berth/testing/console/console-page.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MINUTE_MS = 60_000
/** Serves its variables on port 3000. */
const server = `require('node:http').createServer((_, response) => response.end(JSON.stringify(process.env))).listen(3000, '127.0.0.1')`

let accounts: Accounts
let api: Api
let environment: Environment
beforeAll(async () => {
  accounts = await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } })
  api = (await accounts.person({})).api
  const environments = new Environments(api)
  const preview = { command: 'echo "it\'s $GREETING"; . ./serve.sh', port: 3000 }
  const { id, revision } = await environments.make({ preview, variables: { GREETING: 'up' } })
  environment = (await environments.writeSecret(id, 'HIDDEN', 'never-to-be-seen', revision)).body.environment
})
afterAll(() => accounts[Symbol.asyncDispose]())

const db = () => accounts.test.db.database

/** A Session at rest whose preview runs a script. @param script what the Run does besides */
async function atRest(serve = 'exec node server.cjs', script = ''): Promise<Session> {
  const message = `cat > server.cjs <<'END'\n${server}\nEND\ncat > serve.sh <<'END'\n${serve}\nEND\n${script}`
  const session = await api.createSession({ runtime: 'shell', environment: { id: environment.id } }, message)
  await api.runEnded(session.id, session.activeRunId ?? '')
  await until('the seal', async () => (await api.session(session.id)).phase === 'idle')
  return session
}

const start = ({ id }: Session, previewMinutes = 15, by: Pick<Api, 'call'> = api) =>
  by.call<{ terminalId: string }>('POST', `/cloud/sessions/${id}/terminals`, { previewMinutes })
const end = (terminalId: string, by = api) => by.call('DELETE', `/cloud/terminals/${terminalId}`)
async function readPorts({ id }: Session): Promise<PortList> {
  const answer = await api.get<PortList>(`/cloud/sessions/${id}/ports`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
const listens = (session: Session) => until('the port', async () => (await readPorts(session)).ports.includes(3000))
const rests = (session: Session) => until('the rest', async () => (await readPorts(session)).atRest)
const minutesLeft = async (session: Session) =>
  Math.round((Date.parse((await readPorts(session)).preview?.endsAt ?? '') - Date.now()) / MINUTE_MS)

/** Opens a preview as a browser does, and returns what asks its port. */
async function opened({ id }: Session) {
  const { body } = await api.call<PortPreview>('POST', `/cloud/sessions/${id}/ports/3000/preview`)
  const { headers } = await askHost(new URL(body.url))
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  return () => askHost(new URL('/', body.url).href, { headers: { cookie } })
}

describe('a preview after the Run', () => {
  it('serves the work, beside Runs that begin meanwhile, until its time is over', async () => {
    const session = await atRest()
    expect(await readPorts(session)).toEqual({
      ports: [],
      atRest: true,
      canPreview: true,
      previewCommand: environment.document.preview,
    })
    const { status, body, text } = await start(session)
    expect(status, text).toBe(201)
    await listens(session)
    expect((await readPorts(session)).preview).toMatchObject({
      terminalId: body.terminalId,
      state: 'running',
      exitCode: null,
      output: expect.stringContaining("it's up"),
    })
    expect(await minutesLeft(session)).toBe(15)
    const ask = await opened(session)
    const answer = await ask()
    expect(JSON.parse(answer.text)).toMatchObject({ GREETING: 'up', HOME: '/home/agent' })
    expect(answer.text).not.toContain('never-to-be-seen')

    const { run } = await api.submitTurn(session.id, 'test -e server.cjs')
    expect((await api.runEnded(session.id, run.id)).at(-1)).toMatchObject({ type: 'svc.run.completed' })
    await until('the preview after the seal', async () => (await ask()).status === 200)

    await db().query('update terminals set preview_ends_at = now() where id = $1', [body.terminalId])
    await rests(session)
    expect((await readPorts(session)).preview).toBeUndefined()
    expect((await ask()).text).toContain('is paused')
    // The port is free again: the command ended, and was not only frozen.
    expect((await start(session)).body.terminalId).not.toBe(body.terminalId)
    await listens(session)
    expect((await readPorts(session)).preview).toMatchObject({ state: 'running' })
  })

  it.each<[title: string, serve: string, before: string, expected: object, ports: number[]]>([
    ['exits at once', 'echo broken; exit 3', '', { state: 'exited', exitCode: 3, output: /broken/ }, []],
    ['is none', 'no-such-program', '', { state: 'exited', exitCode: 127, output: /not found/ }, []],
    ['never listens', 'echo idle; exec sleep 1000', '', { state: 'running', exitCode: null, output: /idle/ }, []],
    [
      'forks',
      'setsid node server.cjs < /dev/null & while ! (exec 3<>/dev/tcp/127.0.0.1/3000); do sleep 0.1; done; exit 0',
      '',
      { state: 'exited', exitCode: 0, output: /up/ },
      [3000],
    ],
    [
      'finds its port in use',
      'exec node server.cjs',
      'setsid node server.cjs < /dev/null > /dev/null 2>&1 & while ! (exec 3<>/dev/tcp/127.0.0.1/3000); do sleep 0.1; done',
      { state: 'exited', exitCode: 1, output: /EADDRINUSE/ },
      [3000],
    ],
  ])('of a command that %s says so, and the sandbox runs on', async (_, serve, before, expected, ports) => {
    const session = await atRest(serve, before)
    const { terminalId } = (await start(session)).body
    const { output, ...state } = expected as { output: RegExp }
    await until('its output', async () => {
      const { preview } = await readPorts(session)
      return (
        preview !== undefined && output.test(preview.output) && preview.state === (state as PortList['preview'])?.state
      )
    })
    expect(await readPorts(session)).toMatchObject({ atRest: false, ports, preview: state })
    expect((await end(terminalId)).status).toBe(204)
    await rests(session)
  })

  it('runs without a command if the environment has none, and shows what the agent left', async () => {
    const left = `cat > server.cjs <<'END'\n${server}\nEND\nsetsid node server.cjs < /dev/null > /dev/null 2>&1 & while ! (exec 3<>/dev/tcp/127.0.0.1/3000); do sleep 0.1; done`
    const session = await api.createSession({ runtime: 'shell' }, left)
    await api.runEnded(session.id, session.activeRunId ?? '')
    await until('the rest', async () => (await readPorts(session)).atRest)
    expect((await start(session)).status).toBe(201)
    await listens(session)
    expect((await (await opened(session))()).status).toBe(200)
  })

  it('is one, which anybody of the organization extends and ends, and no lease is held past its bound', async () => {
    const session = await atRest()
    const other = (await accounts.person({})).api
    const { terminalId } = (await start(session, 5)).body
    await until('its start', async () => (await readPorts(session)).preview?.state === 'running')
    expect((await start(session, 60, other)).body.terminalId).toBe(terminalId)
    expect(await minutesLeft(session)).toBe(60)
    expect((await start(session, 1)).body.terminalId).toBe(terminalId)
    expect(await minutesLeft(session)).toBe(60)
    const { workspace } = await api.session(session.id)
    expect(Date.parse(workspace.expiresAt ?? '')).toBeGreaterThanOrEqual(
      Date.parse((await readPorts(session)).preview?.endsAt ?? ''),
    )
    expect(outcome(await end(terminalId, other))).toBe('204')
    expect(outcome(await end(terminalId))).toBe('404 cloud_terminal_not_found')
    await db().query("update leases set bound_at = now() + interval '10 minutes' where session_id = $1", [session.id])
    await start(session, 60, other)
    expect(await minutesLeft(session)).toBe(10)
    for (const minutes of [0, 61, 1.5]) {
      expect(outcome(await start(session, minutes))).toBe('400 invalid_request')
    }
  })

  it('is no business of another organization, and ends with the sign-in of whoever started it last', async () => {
    const session = await atRest()
    const { organizationId } = accounts.test.tenant
    const page = new ConsolePage(accounts.test.url, organizationId)
    await page.signIn(await personWithPassword(db(), organizationId))
    const { body } = await page.call('POST', `/cloud/sessions/${session.id}/terminals`, { previewMinutes: 15 })
    const { terminalId } = body as { terminalId: string }
    await listens(session)
    const { tenant } = await accounts.test.newTenant()
    const stranger = (await accounts.person({ organizationId: tenant.organizationId })).api
    expect(outcome(await start(session, 15, stranger))).toBe('404 cloud_session_not_found')
    expect(outcome(await end(terminalId, stranger))).toBe('404 cloud_terminal_not_found')
    expect(outcome(await start({ ...session, id: randomUUID() }))).toBe('404 cloud_session_not_found')
    await page.call('POST', '/cloud/auth/sign-out', {})
    await rests(session)
    expect((await readPorts(session)).preview).toBeUndefined()
  })

  it('is a terminal of its own: no other one gets its time', async () => {
    const session = await atRest()
    const path = `/cloud/sessions/${session.id}/terminals`
    const { terminalId } = (await api.call<{ terminalId: string }>('POST', path, {})).body
    const refused = await api.call('POST', path, { terminalId, previewMinutes: 60 })
    expect(outcome(refused)).toBe('400 invalid_request')
    expect(refused.text).toContain('does not go with terminalId')
    const { rows } = await db().query<{ awake_until: Date }>('select awake_until from terminals where id = $1', [
      terminalId,
    ])
    expect(rows[0]?.awake_until.getTime()).toBeLessThan(Date.now() + MINUTE_MS)
    await end(terminalId)
  })

  it('neither starts nor goes on for longer on a machine that is drained', async () => {
    const [session, other] = [await atRest(), await atRest()]
    await start(session, 5)
    const hosts = 'update hosts set drained_at = $1 where id in (select host from leases where session_id = any ($2))'
    // The terminal keeps the second sandbox from being given back.
    await api.call('POST', `/cloud/sessions/${other.id}/terminals`, {})
    await db().query(hosts, [new Date(), [session.id]])
    const refused = await start(session, 60)
    expect(outcome(refused)).toBe('503 cloud_preview_unavailable')
    expect(refused.text).toContain('being drained')
    expect(outcome(await start(other))).toBe('503 cloud_preview_unavailable')
    expect(await minutesLeft(session)).toBe(5)
    await db().query(hosts, [null, [session.id]])
    expect(outcome(await start(session, 10))).toBe('201')
  })

  it('comes back with a sandbox that is gone', async () => {
    const session = await atRest()
    expect((await api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBe(204)
    expect(outcome(await start(session))).toBe('409 cloud_workspace_expired')
    await until(
      'the sandbox',
      async () => (await api.call('PUT', `/v1/sessions/${session.id}/workspace`)).status === 200,
    )
    expect((await start(session)).status).toBe(201)
    await listens(session)
  })
})
