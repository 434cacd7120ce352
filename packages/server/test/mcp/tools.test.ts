import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Review, Session } from '@berth/contract'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { commitTo, tipOf } from '@berth/testing/git/repositories.ts'
import {
  callTool as call,
  connectOverHttp,
  followByTool as follow,
  outputSchemas,
} from '@berth/testing/mcp/tool-client.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let test: TestService
let environmentId = ''
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  test = stack.use(await startTestService({ config: { runtimes: runtimes.slice(0, 1) } }))
  await localRepository(test, 'kirkwall/harbour', { 'words.txt': 'harbour' })
  const checks = [{ name: 'deep', run: 'grep deep words.txt; echo sounded; exit 3' }]
  environmentId = (await new Environments(test.api).make({ checks })).id
})
afterAll(() => stack.disposeAsync())

const berth = fileURLToPath(new URL('../../../cli/dist/berth.js', import.meta.url))

async function overHttp(key = test.tenant.apiKey): Promise<Client> {
  const client = await connectOverHttp(test.url, key)
  stack.defer(() => client.close())
  return client
}

/** Connects to `berth mcp` as an agent starts it. */
async function overStdio(): Promise<Client> {
  const home = await mkdtemp(join(tmpdir(), 'berth-home-'))
  stack.defer(() => rm(home, { recursive: true, force: true }))
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, BERTH_URL: test.url, BERTH_API_KEY: test.tenant.apiKey }
  const client = new Client({ name: 'a test', version: '1' })
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [berth, 'mcp'], env, cwd: home, stderr: 'inherit' }),
  )
  stack.defer(() => client.close())
  return client
}

describe('tools over HTTP', () => {
  it.each([
    ['http://evil.example', 403],
    ['null', 403],
    [null, 200],
    ['own', 200],
  ])('are called by pages of the service alone, and by programs: %s', async (origin, status) => {
    const answer = await fetch(`${test.url}/v1/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${test.tenant.apiKey}`,
        'content-type': 'application/json',
        ...(origin !== null && { origin: origin === 'own' ? new URL(test.url).origin : origin }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
    })
    expect([answer.status, (await answer.text()).includes('cross_site_request_refused')]).toEqual([
      status,
      status === 403,
    ])
  })
})

describe.each([
  ['over HTTP', overHttp],
  ['as `berth mcp`', overStdio],
] as const)('tools %s', (_, connect) => {
  it('take a task from its start to a pull request', async () => {
    const client = await connect()
    expect(client.getInstructions()).toContain('start_session')
    const { tools } = await client.listTools()
    expect([...(await outputSchemas(client)).keys()]).toEqual(tools.map(({ name }) => name))
    await call(client, 'list_environments')
    await call(client, 'list_runtimes')
    expect((await call(client, 'list_repositories'))['repositories']).toEqual(['kirkwall/harbour'])
    const task = {
      message:
        'todo [["Look","completed"],["Sound the depth","in_progress"]]\nsay Looked.\nask {"message":"How deep?","requestedSchema":{"type":"object","properties":{"depth":{"type":"string"}}}}',
      repository: 'Kirkwall/harbour',
      runtime: 'scripted',
      environment: environmentId,
      sessionId: randomUUID(),
    }
    const { sessionId } = await call(client, 'start_session', task)
    // A call whose answer was lost is repeated.
    expect((await call(client, 'start_session', task))['sessionId']).toBe(sessionId)
    const waiting = await follow(client, sessionId)
    expect(waiting.text).toMatch(/Looked\.[\s\S]*The agent waits for an answer[\s\S]*How deep\?/)
    expect(waiting.text).toContain('To-do list: 1 of 2 done: Sound the depth')
    expect(waiting['plan']).toEqual([
      { content: 'Look', status: 'completed' },
      { content: 'Sound the depth', status: 'in_progress' },
    ])
    await call(client, 'answer_question', { sessionId, answer: '{"depth":"nine fathoms"}' })
    const ended = await follow(client, sessionId, waiting['sequence'])
    expect(ended.text).toMatch(/nine fathoms[\s\S]*\[run completed\]/)

    const steer = { sessionId, message: 'say aye', steer: true }
    expect((await call(client, 'send_message', steer))['status']).toBe('queued')
    await follow(client, sessionId, ended['sequence'])
    const next = await call(client, 'send_message', {
      sessionId,
      message: 'permission Sound the horn\nwrite words.txt deep\\n',
    })
    const waits = await follow(client, sessionId, next['sequence'])
    expect(waits.text).toContain('Sound the horn')
    await expect(call(client, 'answer_question', { sessionId, answer: 'yes' })).rejects.toThrow('Nothing like it')
    await call(client, 'decide_approval', { sessionId, decision: 'allow_once' })
    await follow(client, sessionId, waits['sequence'])

    const review = await call(client, 'review_changes', { sessionId })
    expect(review.text).toMatch(/words\.txt[\s\S]*-harbour[\s\S]*\+deep/)
    const { revision } = review
    expect(review).toMatchObject({ draft: { title: expect.any(String) }, signals: [], notBorneOut: [] })
    const verifying = { sessionId, revision, verificationId: randomUUID() }
    const verified = await call(client, 'verify_changes', verifying)
    expect(verified).toMatchObject({ state: 'failed', checks: [{ name: 'deep', state: 'failed', exitCode: 3 }] })
    expect(verified.text).toMatch(/deep: failed, exit code 3\ndeep\nsounded/)
    expect((await call(client, 'verify_changes', verifying))['checks']).toEqual(verified['checks'])
    const order = { sessionId, revision, body: 'All checks pass.', publicationId: randomUUID() }
    await expect(call(client, 'publish_changes', { ...order, revision: 'f'.repeat(64) })).rejects.toThrow(/refused: 40/)
    await expect(call(client, 'publish_changes', { ...order, verified: true })).rejects.toThrow(
      'cloud_verification_required',
    )
    // Without a title it has the agent's draft.
    const published = await call(client, 'publish_changes', order)
    expect(published['notBorneOut']).toEqual([{ text: 'All checks pass.' }])
    expect(published.text).toContain('“All checks pass.”: no verification of this revision has passed')
    expect(published).toMatchObject({ status: 'succeeded', pullRequest: { number: expect.any(Number) } })
    expect((await call(client, 'publish_changes', order))['pullRequest']).toEqual(published['pullRequest'])
    const { number } = published['pullRequest'] as { number: number }
    const { pullRequests } = await call(client, 'list_pull_requests')
    expect(pullRequests).toContainEqual(expect.objectContaining({ sessionId, number, followUp: null }))
    await expect(call(client, 'show_pull_request', { sessionId })).rejects.toThrow(/cloud_follow_up_not_found/)
    const followed = { followUp: expect.objectContaining({ state: 'watching', maxAttempts: 3 }) }
    expect(await call(client, 'retry_pull_request', { sessionId, followUp: { maxAttempts: 3 } })).toMatchObject(
      followed,
    )
    expect(await call(client, 'retry_pull_request', { sessionId })).toMatchObject(followed)
    expect(await call(client, 'stop_pull_request', { sessionId })).toMatchObject({
      number,
      followUp: { state: 'stopped' },
    })
    expect((await call(client, 'list_sessions'))['sessions']).toContainEqual(expect.objectContaining({ sessionId }))

    const gitDir = join(test.dataDir, 'repositories/kirkwall/harbour.git')
    const moved = await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { buoy: randomUUID() })
    const update = { sessionId, message: 'say Updated.', updateFromBase: true }
    await follow(client, sessionId, (await call(client, 'send_message', update))['sequence'])
    const { body } = await test.api.get<{ review: Review }>(`/v1/sessions/${sessionId}/repository/review`)
    expect(body.review).toMatchObject({ baseOid: moved, files: [{ path: 'words.txt' }] })
  })

  it('fork a session where a run ended, and return the JSON that a schema asks for', async () => {
    const client = await connect()
    const asks = (type: string) => ({ type: 'object', required: ['n'], properties: { n: { type } } })
    const first = { message: 'say {"n":7}', runtime: 'scripted', outputSchema: asks('integer') }
    const { sessionId } = await call(client, 'start_session', first)
    const begun = await follow(client, sessionId)
    expect(begun['ended']).toMatchObject({ status: 'completed', output: { n: 7 } })
    const { runId } = begun['ended'] as { runId: string }
    const wrong = { sessionId, message: 'say none\nagain say none', outputSchema: asks('string') }
    const { sequence } = await call(client, 'send_message', wrong)
    const failed = await follow(client, sessionId, sequence)
    expect(failed['ended']).toMatchObject({ status: 'failed' })
    expect(failed['ended']).not.toHaveProperty('output')
    expect(failed.text).toContain('output_invalid')

    const order = { sessionId, runId, title: 'The other way', forkId: randomUUID() }
    const fork = await call(client, 'fork_session', order)
    expect(fork).toMatchObject({ sessionId: order.forkId, phase: 'idle' })
    expect((await call(client, 'fork_session', order))['sessionId']).toBe(order.forkId)
    const { session } = (await test.api.get<{ session: Session }>(`/v1/sessions/${order.forkId}`)).body
    expect(session).toMatchObject({ title: 'The other way', parent: { sessionId, runId } })
    const next = await call(client, 'send_message', { sessionId: order.forkId, message: 'say elsewhere' })
    const there = await follow(client, order.forkId, next['sequence'])
    expect(there).toMatchObject({ text: expect.stringContaining('elsewhere'), ended: { status: 'completed' } })
    await expect(call(client, 'fork_session', { ...order, forkId: randomUUID(), runId: randomUUID() })).rejects.toThrow(
      /refused: 4/,
    )
  })

  it('say what is wrong, and how to mend it', async () => {
    const client = await connect()
    await expect(call(client, 'start_session', { message: 'hi', base: 'main' })).rejects.toThrow('needs a `repository`')
    await expect(call(client, 'start_session', { message: 'hi', repository: 'no/such' })).rejects.toThrow('no/such')
    await expect(call(client, 'start_session', { message: 'hi', runtime: 'none' })).rejects.toThrow(/refused: 4/)
    await expect(call(client, 'start_session', {})).rejects.toThrow(/message/)
    await expect(call(client, 'follow_session', { sessionId: randomUUID() })).rejects.toThrow('cloud_session_not_found')
    await expect(call(client, 'follow_session', { sessionId: '..' })).rejects.toThrow()
  })
})

/** Returns how many streams are open. */
async function held(): Promise<number> {
  const { rows } = await test.db.database.query<{ held: string }>(
    'select coalesce(sum(held), 0) as held from open_streams',
  )
  return Number(rows[0]?.held)
}

describe('tools over HTTP', () => {
  it('tell what happens while a call waits, and lose nothing to a client that leaves', async () => {
    const client = await overHttp()
    const message = 'wait begin\ntool one\nwait go\nsay two'
    const { sessionId } = await call(client, 'start_session', { message, runtime: 'scripted' })
    const leave = new AbortController()
    const progress: string[] = []
    const left = client.callTool(
      { name: 'follow_session', arguments: { sessionId, seconds: 300 } },
      {
        signal: leave.signal,
        timeout: 300_000,
        onprogress: ({ message: notice }) => {
          progress.push(notice ?? '')
          if (notice?.includes('one')) leave.abort()
        },
      },
    )
    const outcome = expect(left).rejects.toThrow()
    await until('the call to wait', async () => (await held()) > 0)
    const session = await test.api.session(String(sessionId))
    await touch(test.db.database, test.dataDir, session, 'begin')
    await outcome
    expect(progress.join()).toContain('one')
    // The Run goes on without anybody, and the log has all of it.
    const stopped = await call(client, 'stop_run', { sessionId })
    expect(stopped['runId']).not.toBeNull()
    const end = await follow(await overHttp(), sessionId)
    expect(end.text).toMatch(/one[\s\S]*\[run cancelled\]/)
    await until('the stream to close', async () => (await held()) === 0)
  })

  it('belong to one organization, and need a credential', async () => {
    const { tenant } = await test.newTenant()
    const own = await overHttp()
    const { sessionId } = await call(own, 'start_session', { message: 'say mine', runtime: 'scripted' })
    await follow(own, sessionId)
    const stranger = await overHttp(tenant.apiKey)
    for (const name of ['follow_session', 'stop_run', 'review_changes', 'send_message']) {
      await expect(call(stranger, name, { sessionId, message: 'x' }), name).rejects.toThrow('cloud_session_not_found')
    }
    expect((await call(stranger, 'list_sessions'))['sessions']).toEqual([])
    expect((await call(stranger, 'list_repositories'))['repositories']).toEqual([])
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const ask = (headers: Record<string, string>, sent: unknown = body) =>
      fetch(new URL('/v1/mcp', test.url), {
        method: 'POST',
        headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
        body: JSON.stringify(sent),
      })
    expect((await ask({})).status).toBe(401)
    expect((await ask({ authorization: 'Bearer svc_cloud_live_none' })).status).toBe(401)
    const authorization = `Bearer ${tenant.apiKey}`
    expect((await ask({ authorization }, [body])).status).toBe(400)
    expect((await ask({ authorization }, { ...body, jsonrpc: '1.0' })).status).toBe(400)
    expect((await ask({ authorization, 'content-type': 'text/plain' })).status).toBe(415)
    // The protocol demands its own form of these.
    const [unknownVersion, unknownMethod] = await Promise.all([
      ask({ authorization, 'mcp-protocol-version': '1999-01-01' }),
      ask(
        { authorization, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'no/such' },
        {
          ...body,
          method: 'no/such',
          params: {
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        },
      ),
    ])
    expect([unknownVersion.status, await unknownVersion.json()]).toMatchObject([400, { error: { code: -32000 } }])
    expect([unknownMethod.status, await unknownMethod.json()]).toMatchObject([404, { error: { code: -32601 } }])
    // Clients ask for a stream of their own, and go on without one.
    const get = fetch(new URL('/v1/mcp', test.url), { headers: { authorization, accept: 'text/event-stream' } })
    expect((await get).status).toBe(405)
    expect((await ask({ authorization }, { jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202)
    for (const sessionId of ['..', '../..', '%2e%2e', 'a/../../v1', '?x=1', '']) {
      const progress = call(own, 'stop_run', { sessionId })
      await expect(progress, sessionId).rejects.toThrow(/refused: 4|cannot be an id/)
    }
  })

  it('tell what there is at once to a call that waits for nothing, and end as their service stops', async () => {
    // Nobody begins Runs there, so nothing ends the wait.
    await using idle = await startTestService({
      variables: { BERTH_ROLES: 'api' },
      fixed: { streamsPerAuthority: 1 },
    })
    const client = await connectOverHttp(idle.url, idle.tenant.apiKey)
    const { sessionId } = await call(client, 'start_session', { message: 'hold' })
    const now = await call(client, 'follow_session', { sessionId, seconds: 0 })
    expect(now.text).toContain('[asked] hold')
    expect(now['sequence']).toBeGreaterThan(0)
    const waits = call(client, 'follow_session', { sessionId, after: now['sequence'], seconds: 300 })
    await until('the call to wait', async () => {
      const { rows } = await idle.db.database.query('select from open_streams where held > 0')
      return rows.length > 0
    })
    // Another call finds no free stream, and does not wait for one.
    await expect(call(client, 'follow_session', { sessionId, seconds: 300 })).rejects.toThrow('refused: 429')
    await idle.service.close()
    expect(await waits).toMatchObject({ sequence: now['sequence'], text: expect.stringContaining('with more to tell') })
    await client.close()
  })
})
