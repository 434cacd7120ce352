import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { operationTable } from '@berth/client'
import { sendJson } from '@berth/client/testing'
import { operationOf } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources } from '../src/resources/add-resources.ts'
import { BerthProcess } from './berth-process.ts'
import { ScriptedService, session } from './scripted-service.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
let service: ScriptedService
beforeAll(async () => {
  service = await ScriptedService.start(({ method, path }, response) => {
    const { pathname, searchParams } = new URL(path, 'http://loopback')
    if (pathname === '/v1/me') return sendJson(response, 200, { organizationId: 'o-1' }) ?? 'answered'
    if (pathname === '/cloud/settings') {
      const egress = { neverHosts: ['paste.example.org'], secretEnvironments: { DEPLOY_KEY: [] } }
      return sendJson(response, 200, { egress, budgets: [] }) ?? 'answered'
    }
    if (pathname.endsWith('/egress')) {
      const of = { firstAt: 't1', lastAt: 't2' }
      const reached = { reached: 3, refused: 0, sentBytes: 2048, receivedBytes: 1_572_864 }
      const none = { reached: 0, refused: 2, sentBytes: 0, receivedBytes: 0, lastReason: 'denied', secrets: [] }
      const secrets = [{ name: 'STRIPE_API_KEY', uses: 2 }]
      const hosts = [
        { host: 'api.example.com', port: 443, ...of, ...reached, secrets },
        { host: 'evil\u001b[2J.example', port: 80, ...of, ...none },
      ]
      const others = { reached: 1, refused: 1, sentBytes: 1, receivedBytes: 2 }
      return sendJson(response, 200, { hosts, others }) ?? 'answered'
    }
    if (pathname.endsWith('/content')) return response.end('the report\n')
    if (method === 'DELETE') return response.writeHead(204).end()
    if (pathname.endsWith('/turns')) {
      const turn = (id: string, message: string) => ({ id, runId: `run-${id}`, createdAt: 'now', message })
      const first = searchParams.get('after') === null
      const turns = first ? [turn('1', 'evil\u001b[2J\ntext'), turn('2', 'b\tc')] : [turn('3', 'last')]
      return sendJson(response, 200, { turns, nextAfter: 2, hasMore: first }) ?? 'answered'
    }
    if (pathname.endsWith('/members')) {
      const members = [{ id: 'm-1', role: 'admin', person: { name: 'Ada', email: 'ada@example.com' }, permissions: [] }]
      return sendJson(response, 200, { success: true, hidden: [], members }) ?? 'answered'
    }
    if (method === 'PUT' && pathname.startsWith('/v1/triggers/'))
      return sendJson(response, 201, { trigger: { id: pathname.slice(13) }, notes: [] }) ?? 'answered'
    if (pathname === '/v1/repositories') {
      const account = { provider: 'github', accountLogin: 'acme', reason: 'late' }
      const late = { nextCursor: 'again', hasMore: true, missing: [{ ...account, retried: true }] }
      const still = { nextCursor: null, hasMore: false, missing: [{ ...account, retried: false }] }
      const there = { grantId: 'g-1', repositoryId: '1', fullName: 'acme/till', defaultBranch: 'main', private: true }
      const page =
        searchParams.get('cursor') === null ? { repositories: [there], ...late } : { repositories: [], ...still }
      return sendJson(response, 200, page) ?? 'answered'
    }
    if (pathname.endsWith('/secret')) return sendJson(response, 201, { secret: 'whsec_1', url: 'u' }) ?? 'answered'
    if (pathname.endsWith('/keys'))
      return sendJson(response, 201, { success: true, key: { id: 'k' }, secret: 's3' }) ?? 'answered'
    return undefined
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(cwd, { recursive: true })
})

async function berth(...args: string[]) {
  const it = new BerthProcess(args, { cwd, env: service.env })
  return { code: await it.ended(), lines: it.lines, stdout: it.stdout, stderr: it.stderr }
}

test('every command names an operation, each parameter of its path, and a member of its answer', () => {
  for (const { path, operation, forPeople, args, examples, view } of resources) {
    const given = [...args.map(({ to }) => to), 'organizationId']
    for (const id of [operation, ...(forPeople === undefined ? [] : [forPeople])]) {
      const needed = [...operationTable[id].path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(given, path).toEqual(expect.arrayContaining(needed))
      const [answer] = Object.values(operationOf(id).responses)
      const { success: _, ...members } = Object(Reflect.get(answer?.schema ?? {}, 'properties'))
      const shown = view.kind === 'list' ? view.items : view.kind === 'thing' ? view.member : undefined
      if (shown !== undefined) expect(members, path).toHaveProperty(shown.replace(/\..*/, ''))
      else if (view.kind === 'thing') expect(Object.keys(members).length, path).toBeGreaterThan(1)
    }
    expect(examples.length, path).toBeGreaterThan(0)
  }
})

test('a list goes over its pages up to its limit, with tabs in a pipe and nothing that a terminal obeys', async () => {
  const { code, lines } = await berth('turns', 'list', session.id)
  expect(code).toBe(0)
  expect(lines).toEqual(['1\trun-1\tnow\tevil␛[2J\\ntext', '2\trun-2\tnow\tb\\tc', '3\trun-3\tnow\tlast'])
  expect((await berth('turns', 'list', session.id, '-n', '1')).lines).toHaveLength(1)
})

test('a list names the Git host that was still late when it was asked again, and so does a session that needs it', async () => {
  const late = 'the Git host github (account acme) did not answer in time'
  const listed = await berth('repositories', 'list')
  expect([listed.code, listed.lines]).toEqual([0, ['acme/till\tmain\ttrue\tg-1']])
  expect(listed.stderr).toBe(`${late}; its repositories may be missing here\n`)
  const begun = await berth('run', 'mend it', '--repository', 'acme/other')
  expect(begun.code).toBe(1)
  expect(begun.stderr).toContain(`acme/other is not listed now: ${late}; try again`)
})

test('a list stands below a header in a terminal', async () => {
  const it = new BerthProcess(['turns', 'list', session.id], {
    cwd,
    env: { ...service.env, NO_COLOR: '1' },
    terminal: true,
  })
  expect(await it.ended()).toBe(0)
  expect(it.stdout).toMatch(/^TURN {2}RUN {4}AT {3}MESSAGE\r\n1 {5}run-1 {2}now {2}evil/)
})

test('--json prints whole values, or some members of each', async () => {
  const whole = await berth('turns', 'list', session.id, '--json')
  expect(JSON.parse(whole.lines[1] ?? '')).toEqual({ id: '2', runId: 'run-2', createdAt: 'now', message: 'b\tc' })
  expect((await berth('members', 'list', '--json=id,person.email')).lines).toEqual([
    '{"id":"m-1","person.email":"ada@example.com"}',
  ])
  // A command that is older than the table does the same.
  expect((await berth('sessions', 'show', session.id, '--fields', 'phase')).lines).toEqual(['{"phase":"idle"}'])
  expect((await berth('cancel', session.id, 'run', '--fields', 'status')).lines).toEqual(['{"status":"queued"}'])
})

test('a wrong flag is named with what to do', async () => {
  const swallowed = await berth('sessions', 'show', '--fields', `${session.id} `, session.id)
  expect(swallowed).toMatchObject({ code: 2, stderr: expect.stringContaining('is no name of a member') })
  expect((await berth('sessions', 'show', '--json', session.id)).code).toBe(0)
  const misspelt = await berth('members', 'list', '--fields', 'id,rule')
  expect(misspelt).toMatchObject({ code: 0, lines: ['{"id":"m-1","rule":null}'] })
  expect(misspelt.stderr).toContain('--fields: nothing had rule; there were id, role, person, permissions')
  expect(await berth('sessions', 'edit', session.id)).toMatchObject({
    code: 2,
    stderr:
      'berth: nothing to change: give --title <title> or --model <id> or --effort <effort> or --budget <dollars>\n',
  })
  expect(await berth('members', 'edit', 'm', '--role', 'owner')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Allowed choices are member, admin'),
  })
})

test('arguments and options go where the operation has them', async () => {
  const at = service.taken.length
  expect((await berth('sessions', 'archive', session.id)).lines).toEqual([`archived session ${session.id}`])
  expect((await berth('keys', 'create', 'i-1', '--fields', 'secret')).lines).toEqual(['{"secret":"s3"}'])
  await berth('sessions', 'edit', session.id, '--title', 'other', '--budget', '20')
  await berth('sessions', 'edit', session.id, '--budget', 'none')
  await berth('members', 'edit', 'm', '--permission', 'organization.integrations.manage', '--role', 'admin')
  await berth('budgets', 'set', '--usd', 'none', '--per', 'day', '--person', 'p-1')
  await berth('audit', 'list', '--from', '2026-01-01T00:00:00Z', '-n', '7')
  expect(service.taken.slice(at).filter(({ path }) => path !== '/v1/me')).toMatchObject([
    { method: 'DELETE', path: `/v1/sessions/${session.id}` },
    { method: 'POST', path: '/api/organizations/o-1/integrations/i-1/keys', body: { kind: 'cloud' } },
    { method: 'PATCH', path: `/v1/sessions/${session.id}`, body: { title: 'other', budget: { costUsd: 20 } } },
    { method: 'PATCH', path: `/v1/sessions/${session.id}`, body: { budget: null } },
    { method: 'PATCH', body: { role: 'admin', permissions: ['organization.integrations.manage'] } },
    { method: 'PUT', path: '/cloud/settings', body: { budget: { limitUsd: null, period: 'day', personId: 'p-1' } } },
    { method: 'GET', path: '/cloud/audit?from=2026-01-01T00%3A00%3A00Z&limit=7' },
  ])
})

test('the policy of the network is shown, and set by a file of its form', async () => {
  const policy = { neverHosts: ['paste.example.org'], secretEnvironments: { DEPLOY_KEY: [] } }
  expect((await berth('policy', 'show', '--json')).lines.map(line => JSON.parse(line))).toEqual([policy])
  writeFileSync(join(cwd, 'policy.json'), JSON.stringify({ neverHosts: [] }))
  expect((await berth('policy', 'set', '--file', 'policy.json', '--json')).code).toBe(0)
  expect(service.taken.at(-1)).toMatchObject({ method: 'PUT', body: { egress: { neverHosts: [] } } })
})

test('egress lists hosts with their counts, and prints nothing of theirs as it stands', async () => {
  expect(await berth('egress', session.id)).toMatchObject({
    code: 0,
    lines: [
      'api.example.com:443  reached 3×, refused 0×, sent 2.0 KiB, received 1.5 MiB  t1 to t2  secrets: STRIPE_API_KEY 2×',
      'evil␛[2J.example:80  reached 0×, refused 2×, sent 0 bytes, received 0 bytes  t1 to t2  last refusal: denied',
      'further hosts  reached 1×, refused 1×, sent 1 byte, received 2 bytes',
    ],
  })
  const [first, ...more] = (await berth('egress', session.id, '--json')).lines
  expect([JSON.parse(first ?? '').secrets, more.length]).toEqual([[{ name: 'STRIPE_API_KEY', uses: 2 }], 1])
})

test('bytes go to standard output or to a file', async () => {
  expect((await berth('artifacts', 'download', session.id, 'a')).stdout).toBe('the report\n')
  expect(await berth('artifacts', 'download', session.id, 'a', '--output', 'report.txt')).toMatchObject({ code: 0 })
  expect(readFileSync(join(cwd, 'report.txt'), 'utf8')).toBe('the report\n')
})

test('a trigger is written from a file, and its secret replaced without any option', async () => {
  const file = join(cwd, 'trigger.json')
  writeFileSync(file, '{"name":"Nightly","message":"Look"}')
  const written = await berth('triggers', 'put', '--file', file, '--fields', 'id')
  expect(written.lines[0]).toMatch(/^\{"id":"[0-9a-f-]{36}"\}$/)
  expect(service.taken.at(-1)).toMatchObject({ method: 'PUT', body: { name: 'Nightly', message: 'Look' } })
  expect((await berth('triggers', 'secret', 't-1', '--fields', 'secret')).lines).toEqual(['{"secret":"whsec_1"}'])
  expect(service.taken.at(-1)).toMatchObject({ path: '/v1/triggers/t-1/secret', body: {} })
  writeFileSync(file, '{')
  const broken = await berth('triggers', 'put', '--file', file)
  expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('--file <path>:')])
})
