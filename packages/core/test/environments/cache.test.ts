import { randomBytes } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Event } from '@berth/contract'
import type { Api } from '@berth/testing/api/api.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

let service: TestService
let environments: Environments
beforeAll(async () => {
  service = await startTestService()
  environments = new Environments(service.api)
})
afterAll(() => service[Symbol.asyncDispose]())

const paths = ['~/.cache/tool', 'deps']
/** Says whether the cache was there, and fills it as the first one does. */
const setup =
  'cat deps/who ~/.cache/tool/who; mkdir -p deps ~/.cache/tool; for d in deps ~/.cache/tool; do [ -f $d/who ] || echo $RANDOM > $d/who; done'

/** Returns the terminal data of the newest apply. */
const applied = (events: readonly Event[]) =>
  events.findLast(({ type, data }) => type === 'svc.environment.apply' && data['status'] !== 'started')?.data

/** Runs the first Turn of a Session in a fresh sandbox. */
async function run(id: string, message = 'true', api: Api = service.api) {
  const session = await api.createSession({ runtime: 'shell', environment: { id } }, message)
  const events = await api.runEnded(session.id, session.activeRunId ?? '')
  return { session, data: applied(events), events }
}

const savedRows = async (id: string) =>
  (
    await service.db.database.query<{ branch: string; saved_at: Date; blobs: string[] }>(
      'select branch, saved_at, blobs from environment_caches where environment_id = $1 order by key, branch',
      [id],
    )
  ).rows

test('the cache of the first sandbox is in the next one, and nothing that an agent wrote afterwards', async () => {
  const { id } = await environments.make({ setup, cache: { paths } })
  const first = await run(id, 'echo poison > deps/poison; echo poison > ~/.cache/tool/who; cat deps/who')
  expect(first.data).toMatchObject({ status: 'succeeded', cache: 'miss' })
  const [who] = (await savedRows(id)).map(({ saved_at }) => saved_at.getTime())
  const second = await run(id, 'ls deps; cat deps/who ~/.cache/tool/who')
  expect(second.data).toMatchObject({ cache: 'hit', outputTail: expect.stringMatching(/^\d+\n\d+\n$/) })
  const output = second.events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output']
  expect(output).toBe(`who\n${second.data?.['outputTail']}`)
  // Nothing has changed, so nothing was saved again.
  expect((await savedRows(id)).map(({ saved_at }) => saved_at.getTime())).toEqual([who])
})

test('a change that setup makes to the cache replaces it', async () => {
  const { id } = await environments.make({
    setup: 'mkdir -p deps; echo more >> deps/log; cat deps/log',
    cache: { paths },
  })
  await run(id)
  expect((await run(id)).data).toMatchObject({ cache: 'hit', outputTail: 'more\nmore\n' })
  expect((await run(id)).data).toMatchObject({ cache: 'hit', outputTail: 'more\nmore\nmore\n' })
  expect(await savedRows(id)).toHaveLength(1)
})

test('other paths, another environment and another organization read nothing of it', async () => {
  const document = { setup, cache: { paths } }
  const made = await environments.make(document)
  await run(made.id)
  const same = await environments.make(document)
  const { api } = await service.newTenant()
  const theirs = await new Environments(api).make(document)
  expect((await run(same.id)).data).toMatchObject({ cache: 'miss' })
  expect((await run(theirs.id, 'true', api)).data).toMatchObject({ cache: 'miss' })
  await environments.put(made.id, { name: made.name, setup, cache: { paths: ['deps'] } }, 1)
  expect((await run(made.id)).data).toMatchObject({ cache: 'miss', revision: 2 })
  // The order of the paths does not matter, nor does the revision.
  await environments.put(made.id, { name: made.name, setup, cache: { paths: paths.toReversed() } }, 2)
  expect((await run(made.id)).data).toMatchObject({ cache: 'hit', revision: 3 })
  expect((await run((await environments.make({ setup })).id)).data).not.toHaveProperty('cache')
})

test('a path that exists already is left alone', async () => {
  const { id } = await environments.make({ setup, cache: { paths } })
  const { session } = await run(id, 'echo mine > deps/who')
  await until('an idle session', async () => (await service.api.session(session.id)).phase === 'idle')
  const before = await savedRows(id)
  expect((await service.api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBe(204)
  const turn = await service.api.submitTurn(session.id, 'cat deps/who')
  const events = await service.api.runEnded(session.id, turn.run.id)
  // The agent's own file came back with its workspace, the home from the cache; and nothing of it is saved.
  expect(applied(events)).toMatchObject({ cache: 'hit', outputTail: expect.stringMatching(/^mine\n\d+\n$/) })
  expect(await savedRows(id)).toEqual(before)
})

test('a cached path of the home comes back from the cache, and the rest of the home as the agent left it', async () => {
  const fill = 'cat ~/tools/who; mkdir -p ~/tools; [ -f ~/tools/who ] || echo cached > ~/tools/who'
  const { id } = await environments.make({ setup: fill, cache: { paths: ['~/tools'] } })
  const { session } = await run(id, 'echo mine | tee ~/tools/who > ~/own')
  await until('an idle session', async () => (await service.api.session(session.id)).phase === 'idle')
  expect((await service.api.call('DELETE', `/v1/sessions/${session.id}/workspace`)).status).toBe(204)
  const turn = await service.api.submitTurn(session.id, 'cat ~/tools/who ~/own')
  const events = await service.api.runEnded(session.id, turn.run.id)
  expect(applied(events)).toMatchObject({ cache: 'hit', outputTail: 'cached\n' })
  expect(events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output']).toBe('cached\nmine\n')
})

test('a cache that holds a secret is not saved, wherever the value stands', async () => {
  const secret = `canary-${randomBytes(12).toString('hex')}`
  const cases = [
    ['mkdir -p deps/a; echo ok > deps/a/b; printf "%s" "$KEY1" > deps/a/npmrc', 'deps/a/npmrc'],
    [
      'mkdir -p ~/.cache/tool; head -c 2097140 /dev/zero > ~/.cache/tool/x; echo "$KEY1" >> ~/.cache/tool/x',
      '~/.cache/tool/x',
    ],
    ['mkdir -p "deps/$KEY1"', 'deps/[secret]'],
    ['mkdir -p deps; ln -s "/x/$KEY1" deps/link', 'deps/link'],
  ] as const
  for (const [script, path] of cases) {
    const made = await environments.make({ setup: script, cache: { paths } })
    await environments.writeSecret(made.id, 'KEY1', secret, made.revision)
    const { data, session } = await run(made.id)
    expect(data).toMatchObject({ status: 'succeeded', cache: 'skipped_secret', cacheSkip: { reason: 'secret', path } })
    expect(await savedRows(made.id)).toEqual([])
    const { rows } = await service.db.database.query('select apply::text as text from leases where session_id = $1', [
      session.id,
    ])
    expect(JSON.stringify(rows)).not.toContain(secret)
  }
})

test('a secret that was set since is looked for in what was saved before', async () => {
  const made = await environments.make({ setup: 'mkdir -p deps; echo long-known-value > deps/a', cache: { paths } })
  await run(made.id)
  expect((await run(made.id)).data).toMatchObject({ cache: 'hit' })
  await environments.writeSecret(made.id, 'KEY1', 'long-known-value', made.revision)
  expect((await run(made.id)).data).toMatchObject({ cache: 'skipped_secret', cacheSkip: { path: 'deps/a' } })
})

test('a damaged cache is dropped whole, and the next one is saved in its place', async () => {
  const { id } = await environments.make({ setup, cache: { paths } })
  await run(id)
  const [saved] = await savedRows(id)
  for (const sha256 of saved?.blobs ?? []) await tamper(sha256)
  const { data } = await run(id)
  expect(data).toMatchObject({
    status: 'succeeded',
    cache: 'discarded',
    cacheDiscarded: { reason: /damaged|malformed/ },
    outputTail: expect.stringContaining('No such file'),
  })
  expect((await run(id)).data).toMatchObject({ cache: 'hit' })
})

/** Changes a byte of a stored blob. */
async function tamper(sha256: string): Promise<void> {
  const root = join(service.dataDir, 'blobs')
  const found = (await readdir(root, { recursive: true })).find(
    name => name.endsWith(sha256) || name.replaceAll('/', '').endsWith(sha256),
  )
  if (found === undefined) throw new Error(`no blob ${sha256}`)
  const content = await readFile(join(root, found))
  content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 1
  await writeFile(join(root, found), content)
}

test('two sandboxes that save at once leave a whole cache', async () => {
  const { id } = await environments.make({ setup, cache: { paths } })
  const both = await Promise.all([run(id), run(id)])
  for (const { data } of both) expect(data).toMatchObject({ status: 'succeeded' })
  expect(await savedRows(id)).toHaveLength(1)
  expect((await run(id)).data).toMatchObject({ cache: 'hit', outputTail: expect.stringMatching(/^\d+\n\d+\n$/) })
})

test('what setup leaves running goes on after its files were saved', async () => {
  const { id } = await environments.make({
    setup: 'mkdir -p deps; (while :; do date +%s%N > deps/beat; sleep 0.01; done) > /dev/null 2>&1 & ',
    cache: { paths },
  })
  const { data, events } = await run(
    id,
    'a=$(cat deps/beat); for i in $(seq 500); do b=$(cat deps/beat); [ "$a" = "$b" ] || break; sleep 0.02; done; [ "$a" != "$b" ] && echo beats',
  )
  expect(data).toMatchObject({ status: 'succeeded', cache: 'miss' })
  expect(events.findLast(({ type }) => type === 'svc.activity.completed')?.data['output']).toBe('beats\n')
  expect(await savedRows(id)).toHaveLength(1)
})
