import { randomBytes } from 'node:crypto'
import { MasterKey } from '@berth/platform/storage/master-key.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import Fastify from 'fastify'
import { afterAll, expect, it } from 'vitest'
import { mountSignIn } from '../../src/accounts/sign-in/sign-in.ts'
import { SigningKeys } from '../../src/accounts/signing/signing-keys.ts'

const day = 86_400_000
const made = await createTestDatabase()
afterAll(() => made[Symbol.asyncDispose]())

it('the provider publishes a new key before it signs, signs with it in its time, and drops the old one', async () => {
  let now = new Date('2030-01-01T00:00:00Z')
  const clock = { now: () => now }
  const masterKey = new MasterKey(randomBytes(32))
  const db = made.database
  const keys = new SigningKeys(db, clock, masterKey, { signMs: 30 * day, publishAheadMs: day, tokenMs: 3_600_000 })
  await keys.poll()
  const app = Fastify()
  const url = 'http://localhost'
  const own = { firstPartyClients: [], identityProviders: [], providerTimeoutMs: 30_000 }
  const context = { db, clock, masterKey, keys, authUrl: () => url, consoleUrl: () => url, ...own }
  const meter = { take: () => Promise.reject(new Error('nothing is issued')) }
  const { provider } = mountSignIn(app, context, meter, silentLog)
  const published = async (): Promise<string[]> => {
    const answer = await fetch(`${await listening}/oidc/jwks`)
    return Object(await answer.json()).keys.map(({ kid }: { kid: string }) => kid)
  }
  const listening = app.listen({ host: '127.0.0.1', port: 0 })
  const at = async (days: number) => {
    now = new Date(Date.UTC(2030, 0, 1) + days * day)
    await keys.poll()
    return published()
  }
  try {
    const first = keys.current.kid
    expect(await published()).toEqual([first])
    const before = await provider.get()
    expect(await at(28)).toEqual([first])
    expect(await provider.get()).toBe(before)
    const [, second = ''] = await at(29.5)
    expect(second).not.toBe('')
    expect(await published()).toEqual([first, second])
    expect(await at(30)).toEqual([second, first])
    expect(await at(30.5)).toEqual([second])
  } finally {
    await app.close()
  }
})
