import { expect, test } from 'vitest'
import { createClient, findRepository, settled } from '../src/index.ts'
import { ManualClock } from './manual-clock.ts'
import { ScriptedApi, sendJson } from './scripted-api.ts'

test('a value is read until it is final, with growing pauses', async () => {
  const pauses: number[] = []
  const sleep = async (ms: number) => void pauses.push(ms)
  let reads = 0
  const isFinal = (value: number) => value === 10
  expect(await settled(async () => ++reads, isFinal, { platform: { now: () => 0, sleep } })).toBe(10)
  expect(pauses.slice(0, 3)).toEqual([100, 150, 225])
  expect(pauses.at(-1)).toBe(2_000)
})

test('a wait ends with the value as it stands when its time is over or enough was waited, and by its signal', async () => {
  const clock = new ManualClock()
  let reads = 0
  const read = async () => ++reads
  // bound: the test sets the clock
  const late = settled(read, () => false, { platform: clock, atMostMs: 150 })
  await clock.sleeperUntil(100)
  clock.advance(100)
  await clock.sleeperUntil(150)
  clock.advance(50)
  expect(await late).toBe(3)

  const enough = new AbortController()
  const stopped = settled(read, () => false, { platform: clock, enough: enough.signal })
  await clock.sleeperUntil(250)
  enough.abort()
  expect(await stopped).toBe(4)

  const leave = new AbortController()
  const left = settled(read, () => false, { platform: clock, signal: leave.signal })
  await clock.sleeperUntil(250)
  leave.abort(new Error('mine'))
  await expect(left).rejects.toThrow('mine')
})

test('a repository is not said to be absent while a host that may have it is late', async () => {
  const account = { provider: 'github', accountLogin: 'acme', reason: 'late' }
  const pages = [
    { hasMore: true, nextCursor: '2', missing: [{ ...account, retried: true }] },
    { hasMore: false, nextCursor: null, missing: [{ ...account, retried: false }] },
  ]
  await using api = await ScriptedApi.start({
    other: (request, response) =>
      sendJson(response, 200, { repositories: [], ...pages[request.url?.includes('cursor=2') ? 1 : 0] }),
  })
  const client = createClient({ baseUrl: api.url, credential: 'key' })
  await expect(findRepository(client, 'acme/till')).rejects.toThrow(
    'acme/till is not listed now: the Git host github (account acme) did not answer in time; try again',
  )
})

test('a repository is found by its name on any page, whatever the case, and its absence is no error', async () => {
  const page = (names: readonly string[], nextCursor: string | null) => ({
    repositories: names.map(fullName => ({ fullName, grantId: `grant of ${fullName}`, repositoryId: fullName })),
    hasMore: nextCursor !== null,
    nextCursor,
  })
  await using api = await ScriptedApi.start({
    other: (request, response) =>
      sendJson(response, 200, request.url?.includes('cursor=2') ? page(['b/two'], null) : page(['a/one'], '2')),
  })
  const client = createClient({ baseUrl: api.url, credential: 'key' })
  expect(await findRepository(client, 'B/Two', { baseBranch: 'next' })).toEqual({
    grantId: 'grant of b/two',
    repositoryId: 'b/two',
    baseBranch: 'next',
  })
  expect(await findRepository(client, 'c/three')).toBeNull()
  const signal = AbortSignal.abort(new Error('mine'))
  await expect(findRepository(client, 'a/one', { signal })).rejects.toThrow('mine')
})
