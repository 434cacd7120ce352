import { type AccountToken, GitHostError } from '@berth/core/git-hosts/git-host.ts'
import { beforeEach, expect, it } from 'vitest'
import type { TokenAccount } from './git-credential.ts'
import { IssuedTokens, LeaseTokens } from './lease-tokens.ts'

let now: number
let requested: (readonly string[] | null)[]
let lifeMs: number
let failure: Error | null
let issued: IssuedTokens
let tokens: LeaseTokens
/** Values that the host was asked to revoke. */
let revoked: string[]
beforeEach(() => {
  now = 0
  requested = []
  lifeMs = 60 * 60_000
  failure = null
  revoked = []
  const clock = { now: () => new Date(now) }
  issued = new IssuedTokens(clock)
  tokens = new LeaseTokens(clock, issued, 50)
})

const account = (more: Partial<TokenAccount> = {}): TokenAccount => ({
  id: 'connection',
  host: 'github:github.com',
  account: '7',
  login: 'acme',
  whole: false,
  repositories: [
    { id: '1', fullName: 'acme/one' },
    { id: '2', fullName: 'acme/two' },
  ],
  tokens: {
    webUrl: 'https://github.com',
    async mint(_, repositoryIds) {
      if (failure !== null) throw failure
      const value = `token ${requested.push(repositoryIds)}`
      return { value, basic: value, expiresAt: new Date(now + lifeMs) }
    },
    async revoke({ value }) {
      revoked.push(value)
      if (value === 'token 1') throw new GitHostError('unavailable', 'away')
    },
  },
  ...more,
})

const value = async (of: TokenAccount, first: string[] = []) => (await tokens.get(of, first)).value

it('gives out one token of an account while it is good for ten minutes, to callers who come together as well', async () => {
  expect(await Promise.all([value(account()), value(account())])).toEqual(['token 1', 'token 1'])
  now = 50 * 60_000 - 1
  expect(await value(account())).toBe('token 1')
  now = 50 * 60_000
  expect(await value(account())).toBe('token 2')
  expect(requested).toEqual([
    ['1', '2'],
    ['1', '2'],
  ])
})

it('gives out another token when the granted repositories change', async () => {
  await value(account())
  expect(await value(account({ repositories: [{ id: '1', fullName: 'acme/one' }] }))).toBe('token 2')
  expect(await value(account({ whole: true }))).toBe('token 3')
  expect(requested).toEqual([['1', '2'], ['1'], null])
})

it('names at most 500 repositories, with the wanted ones first', async () => {
  const repositories = Array.from({ length: 501 }, (_, index) => ({ id: String(index), fullName: `acme/r${index}` }))
  await value(account({ repositories }), ['ACME/R500'])
  expect(requested[0]).toHaveLength(500)
  expect(requested[0]?.slice(0, 2)).toEqual(['500', '0'])
})

it('believes that a host refused a token only after a minute', async () => {
  await value(account())
  tokens.forget(account())
  expect(await value(account())).toBe('token 1')
  now = 60_000
  tokens.forget(account())
  expect(await value(account())).toBe('token 2')
})

it('keeps a refusal of the host for thirty seconds, and asks again after one that passes', async () => {
  failure = new GitHostError('not_found', 'gone')
  await expect(value(account())).rejects.toMatchObject({ status: 403 })
  failure = new GitHostError('unavailable', 'away')
  now = 29_999
  await expect(value(account())).rejects.toMatchObject({ status: 403 })
  now = 30_000
  await expect(value(account())).rejects.toMatchObject({ status: 503 })
  failure = null
  expect(await value(account())).toBe('token 1')
  const mint = (_: string, __: unknown, signal: AbortSignal) => rejected(signal)
  const silent = { ...account().tokens, mint }
  await expect(value(account({ id: 'other', tokens: silent }))).rejects.toMatchObject({ status: 503 })
})

it('revokes every token that it gave out and that is still good, past the failures of a host', async () => {
  await value(account({ id: 'expired' }))
  now = lifeMs
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await value(account({ id }))
  await value(account({ id: 'a', whole: true }))
  expect(await issued.revoke()).toEqual([])
  expect(revoked.toSorted()).toEqual([2, 3, 4, 5, 6, 7, 8].map(number => `token ${number}`))
  expect(await issued.revoke()).toEqual([])
  expect(revoked).toHaveLength(7)
})

it('tells which tokens a host did not revoke', async () => {
  await value(account({ id: 'first' }))
  await value(account({ id: 'second' }))
  expect(await issued.revoke()).toMatchObject([{ kind: 'unavailable' }])
  expect(revoked.toSorted()).toEqual(['token 1', 'token 2'])
})

it('revokes a token at once that a host mints after the end', async () => {
  const late = Promise.withResolvers<AccountToken>()
  const given = tokens.get(account({ tokens: { ...account().tokens, mint: () => late.promise } }), [])
  expect(await issued.revoke()).toEqual([])
  late.resolve({ value: 'late', basic: 'late', expiresAt: new Date(lifeMs) })
  await given
  expect(revoked).toEqual(['late'])
})

function rejected(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason))
  return promise
}
