import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendJson } from '@berth/client/testing'
import { afterAll, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { run, ScriptedService, session } from './scripted-service.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
afterAll(() => rmSync(cwd, { recursive: true }))

const berth = (service: ScriptedService, ...args: string[]) => new BerthProcess(args, { cwd, env: service.env })
const revision = 'a'.repeat(64)
const commitSha = 'b'.repeat(40)
const result = {
  delivery: 'pull_request',
  branch: 'svc/x',
  commitSha,
  pullRequest: { number: 7, url: 'http://127.0.0.1/7', draft: false, reused: false },
}
const review = {
  revision,
  targetBranch: 'main',
  files: [
    { path: 'evil\u001b[2J', status: 'added', additions: 2, deletions: 0, binary: false },
    {
      ...{ path: 'tool', status: 'modified', additions: 0, deletions: 0, binary: false },
      ...{ previousMode: '100644', mode: '100755' },
    },
    {
      ...{ path: 'link', status: 'added', additions: 1, deletions: 0, binary: false },
      ...{ mode: '120000', target: '/etc\u001b[2J' },
    },
  ],
  additions: 2,
  deletions: 0,
  patch: '+\u001b[2J caf\ufffd\u2028\r\n',
  patchTruncated: false,
  notes: ['api\u001b[2J is left out.'],
  signals: [
    {
      ...{ kind: 'test_skipped', path: 'evil\u001b[2J', count: 7, digest: 'd' },
      lines: [
        { side: 'before', number: 3 },
        { side: 'after', number: 4 },
      ],
    },
    { kind: 'mode_changed', path: 'tool', count: 1, lines: [], detail: '100644 → 100755', digest: 'd' },
    { kind: 'unread', path: 'a', count: 3, lines: [], digest: 'd' },
  ],
}

const summary = '# List the files\n\nIt lists\u202e them.\n'

/** Starts a service whose one Publication and one Merge end like this. */
async function serve(end: { publication: object; merge: object }): Promise<ScriptedService> {
  let reads = 0
  return ScriptedService.start(({ method, path }, response) => {
    const [id = ''] = path.split('/').slice(-1)
    const published = { id, status: 'succeeded', completedAt: '2026-01-01T00:00:00.000Z', ...end.publication }
    if (path.endsWith(`/runs/${run.id}`)) sendJson(response, 200, { run: { ...run, result: { summary } } })
    else if (path.endsWith(`/sessions/${session.id}`))
      sendJson(response, 200, { session: { ...session, lastRun: run } })
    else if (path.includes('/repository/review')) sendJson(response, 200, { review })
    else if (path.includes('/merges/')) {
      const over = method === 'GET' && ++reads > 1
      const status = { status: over ? 'succeeded' : 'waiting', pullRequestNumber: 7 }
      sendJson(response, 200, { merge: { id, ...status, ...(over && { completedAt: 'now', ...end.merge }) } })
    } else if (path.includes('/publications/')) sendJson(response, 200, { publication: published })
    else sendJson(response, 200, { publications: [{ ...published, id: 'p' }], nextCursor: null, hasMore: false })
    return 'answered'
  })
}

test('review shows the revision, the files with modes and targets, its signals and notes, without control characters', async () => {
  await using service = await serve({ publication: { result }, merge: {} })
  const files = berth(service, 'review', session.id)
  expect(await files.ended()).toBe(0)
  expect(files.lines).toEqual([
    `revision ${revision}`,
    'added     +2 -0  evil␛[2J',
    'modified  +0 -0  tool  mode 100644 → 100755',
    'added     +1 -0  link → /etc␛[2J  mode 120000',
    '! Test skipped: evil␛[2J:-3,4 and 5 more',
    '! Permissions changed: tool  100644 → 100755',
    '! Lines not looked at: a and 2 more files',
    '3 files, +2 -0 on main',
  ])
  expect(files.stderr).toBe('berth: api␛[2J is left out.\n')
})

test('review prints the patch as it is, with a warning about U+FFFD, but without control characters in any terminal', async () => {
  await using service = await serve({ publication: { result }, merge: {} })
  const piped = berth(service, 'review', session.id, '--patch')
  expect(await piped.ended()).toBe(0)
  expect(piped.stdout).toBe(review.patch)
  expect(piped.stderr).toMatch(/^berth: the patch has U\+FFFD, .*do not apply it\n$/)
  const env = { ...service.env, TERM: 'dumb' }
  const shown = new BerthProcess(['review', session.id, '--patch'], { cwd, env, terminal: true })
  expect(await shown.ended()).toBe(0)
  expect(shown.stdout).toBe('+␛[2J caf\ufffd\r\n\r\n')
})

/** Starts a service whose verification ends like this on the second read. */
async function verifying(end: object): Promise<ScriptedService> {
  let reads = 0
  return ScriptedService.start(({ method, path }, response) => {
    const [id = ''] = path.split('/').slice(-1)
    const over = method === 'GET' && ++reads > 2
    const verification = { id, state: 'running', checks: [], ...(over && { completedAt: 'now', ...end }) }
    if (path.endsWith('/repository/review')) sendJson(response, 200, { review })
    else if (path.includes('/verifications/')) sendJson(response, 200, { verification })
    else if (method === 'PUT') sendJson(response, 201, { publication: { id } })
    else sendJson(response, 200, { publication: { id, status: 'succeeded', completedAt: 'now', result } })
    return 'answered'
  })
}
const checks = [
  { name: 'types', required: true, state: 'passed', exitCode: 0, durationMs: 1000, outputTail: '' },
  {
    name: 'unit',
    required: true,
    state: 'failed',
    exitCode: 3,
    durationMs: 2000,
    outputTail: 'one\u001b[2J\nfailed\n',
  },
  { name: 'docs', required: false, state: 'skipped' },
]
const failed = { state: 'failed', checks, counts: { passed: 1, failed: 1, skipped: 1 } }
const passed = { state: 'passed', checks: checks.slice(0, 1), counts: { passed: 1, failed: 0, skipped: 0 } }

test('review --verify waits for the checks, and shows the end of what failed', async () => {
  await using service = await verifying(failed)
  const it = berth(service, 'review', session.id, '--verify')
  expect(await it.ended()).toBe(1)
  expect(service.taken.find(({ method }) => method === 'PUT')?.body).toEqual({ revision })
  expect(it.lines.slice(0, -1)).toEqual([
    'passed    types  1.0 s',
    'failed    unit  2.0 s  exit code 3',
    '    one␛[2J',
    '    failed',
    'skipped   docs  not required',
  ])
  expect(it.lines.at(-1)).toMatch(/^verification \S+ failed: 1 of 2 checks passed$/)
})

test.each([
  ['publishes what the checks have passed', passed, 0, [{ revision }, { revision, verified: true }]],
  ['publishes nothing if one has failed', failed, 1, [{ revision }]],
])('publish --verified %s', async (_, end, code, bodies) => {
  await using service = await verifying(end)
  const it = berth(service, 'publish', session.id, '--title', 'a', '--verified')
  expect(await it.ended()).toBe(code)
  expect(service.taken.filter(({ method }) => method === 'PUT').map(({ body }) => body)).toMatchObject(bodies)
})

test('publish publishes the current changes, or a given revision, and reports the outcome', async () => {
  await using service = await serve({ publication: { result }, merge: {} })
  const it = berth(service, 'publish', session.id, '--title', 'a', '--body', 'b', '--draft')
  expect(await it.ended()).toBe(0)
  expect(it.lines[0]).toMatch(/^publication \S+ bbbbbbbbbbbb pull request #7 http:\/\/127.0.0.1\/7$/)
  const put = service.taken.find(({ method }) => method === 'PUT')
  expect(put?.body).toEqual({ revision, title: 'a', body: 'b', delivery: 'pull_request', draft: true })
  const wrong = berth(service, 'publish', session.id, '--title', 'a', '--direct', '--branch', 'x')
  expect(await wrong.ended()).toBe(2)
  await using failing = await serve({ publication: { status: 'failed', lastError: { code: 'no_changes' } }, merge: {} })
  const failed = berth(failing, 'publish', session.id, '--title', 'a', '--revision', revision)
  expect(await failed.ended()).toBe(1)
  expect(failed.lines[0]).toMatch(/failed: the session has no changes \(no_changes\)$/)
})

test('publish without a title takes title and body from the last message of the agent', async () => {
  await using service = await serve({ publication: { result }, merge: {} })
  for (const [args, body] of [
    [[], 'It lists\ufffd them.'],
    [['--body', 'b'], 'b'],
  ] as const) {
    expect(await berth(service, 'publish', session.id, ...args).ended()).toBe(0)
    const put = service.taken.findLast(({ method }) => method === 'PUT')
    expect(put?.body).toEqual({ revision, title: 'List the files', body, delivery: 'pull_request' })
  }
})

test('publish says that it made the first commit of a repository', async () => {
  const first = { delivery: 'direct_branch', branch: 'main', commitSha }
  await using service = await serve({ publication: { delivery: 'pull_request', result: first }, merge: {} })
  const it = berth(service, 'publish', session.id, '--title', 'a')
  expect(await it.ended()).toBe(0)
  expect(it.lines[0]).toMatch(/^publication \S+ bbbbbbbbbbbb pushed to main as the first commit of the repository$/)
})

test('merge merges the latest pull request and waits for the outcome', async () => {
  await using service = await serve({ publication: { result }, merge: { mergedCommitSha: commitSha } })
  const it = berth(service, 'merge', session.id, '--strategy', 'squash', '--when-ready')
  expect(await it.ended()).toBe(0)
  expect(it.lines[0]).toMatch(/^merge \S+ pull request #7 bbbbbbbbbbbb$/)
  expect(it.stderr).toContain('waiting until the host allows the merge')
  const put = service.taken.find(({ method }) => method === 'PUT')
  expect([put?.path, put?.body]).toEqual([
    expect.stringContaining('/publications/p/merges/'),
    { strategy: 'squash', mode: 'when_ready' },
  ])
})

test('merge says how to open a pull request if there is none, and why a merge failed', async () => {
  await using none = await serve({ publication: { result: { ...result, pullRequest: undefined } }, merge: {} })
  const it = berth(none, 'merge', session.id)
  expect(await it.ended()).toBe(2)
  expect(it.stderr).toBe('berth: the session has no pull request; `berth publish` opens one\n')
  const lastError = { code: 'merge_not_ready' }
  await using refusing = await serve({ publication: { result }, merge: { status: 'failed', lastError } })
  const refused = berth(refusing, 'merge', session.id)
  expect(await refused.ended()).toBe(1)
  expect(refused.lines[0]).toMatch(/failed: .*--when-ready waits.* \(merge_not_ready\)$/)
  const unheard = { code: 'something_new' }
  await using later = await serve({ publication: { result }, merge: { status: 'failed', lastError: unheard } })
  const strange = berth(later, 'merge', session.id)
  expect(await strange.ended()).toBe(1)
  expect(strange.lines[0]).toMatch(/failed: something_new$/)
})

/** Starts a service whose workspace has lapsed until it is attached. */
async function lapsed(changes: object | null): Promise<ScriptedService> {
  let attached = false
  return ScriptedService.start(({ method, path }, response) => {
    if (method === 'PUT' && path.endsWith('/workspace')) {
      attached = true
      sendJson(response, 200, { session: { ...session, workspace: { state: 'attached' } } })
    } else if (path.includes('/repository/review?revision=')) sendJson(response, 200, { review })
    else if (path.endsWith(session.id)) sendJson(response, 200, { session: { ...session, changes } })
    else if (!attached) sendJson(response, 409, { error: 'cloud_workspace_expired' })
    else if (path.endsWith('/repository/review')) sendJson(response, 200, { review })
    else sendJson(response, 200, { publication: { id: 'p', status: 'succeeded', completedAt: 'now', result } })
    return 'answered'
  })
}

test('review of a lapsed workspace shows the changes as they were stored', async () => {
  await using service = await lapsed({ revision, files: 3, additions: 2, deletions: 0 })
  const it = berth(service, 'review', session.id)
  expect([await it.ended(), it.lines.at(0), it.lines.at(-1)]).toEqual([
    0,
    `revision ${revision}`,
    '3 files, +2 -0 on main',
  ])
  expect(it.stderr).toContain('the workspace has lapsed; these are the changes as they were stored')
  expect(service.taken.map(({ path }) => path).at(-1)).toBe(
    `/v1/sessions/${session.id}/repository/review?revision=${revision}`,
  )
  expect(service.taken.filter(({ method }) => method !== 'GET')).toEqual([])
})

test('review of a lapsed workspace without stored changes names what attaches it, and does that with --restore', async () => {
  await using service = await lapsed(null)
  const it = berth(service, 'review', session.id)
  expect(await it.ended()).toBe(1)
  expect(it.stderr).toContain(`\`berth workspace restore ${session.id}\``)
  expect(await berth(service, 'review', session.id, '--restore').ended()).toBe(0)
})

test.each([[], ['--revision', revision]])(
  'publish brings a lapsed workspace back, without a run (%s)',
  async (...named) => {
    await using service = await lapsed(null)
    const it = berth(service, 'publish', session.id, '--title', 'a', ...named)
    expect([await it.ended(), it.lines[0]]).toEqual([0, expect.stringContaining('pull request #7')])
    const ids = service.taken.flatMap(({ path }) => /publications\/(\S+)$/.exec(path)?.slice(1) ?? [])
    expect(new Set(ids).size).toBe(1)
    expect(service.taken.some(({ method, path }) => method === 'POST' && path.includes('/turns'))).toBe(false)
  },
)
