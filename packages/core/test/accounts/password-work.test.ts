import { expect, it, vi } from 'vitest'
import { hashPassword, verifyPassword } from '../../src/accounts/people/password.ts'

const hashes = vi.hoisted(() => [] as Readonly<Record<string, unknown>>[])
vi.mock('node:crypto', async importOriginal => {
  const crypto = await importOriginal<typeof import('node:crypto')>()
  const argon2: typeof crypto.argon2 = (algorithm, parameters, callback) => {
    const { memory, passes, parallelism, tagLength, nonce } = parameters
    hashes.push({ algorithm, memory, passes, parallelism, tagLength, salt: Buffer.from(nonce as Buffer).length })
    crypto.argon2(algorithm, parameters, callback)
  }
  return { ...crypto, argon2 }
})

/** The hashes that a look at a password makes. */
async function workOf(stored: string | null, password: string): Promise<readonly object[]> {
  hashes.length = 0
  await verifyPassword(stored, password)
  return [...hashes]
}

it('an account that is not there, or has no password, costs the same hash as one that has', async () => {
  const stored = await hashPassword('correct horse battery')
  const work = await workOf(stored, 'wrong')
  expect(work).toHaveLength(1)
  for (const password of ['wrong', '', 'correct horse battery']) expect(await workOf(null, password)).toEqual(work)
  expect(await workOf(stored, 'correct horse battery')).toEqual(work)
})
