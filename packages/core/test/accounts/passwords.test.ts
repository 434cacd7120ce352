import { argon2Sync, randomBytes, scryptSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { HashQueue } from '../../src/accounts/people/hash-queue.ts'
import { hashPassword, verifyPassword } from '../../src/accounts/people/password.ts'

const password = 'correct horse battery staple'

describe('a password', () => {
  it('is stored as a PHC string that any argon2id verifies, with a salt of its own', async () => {
    const [stored, again] = [await hashPassword(password), await hashPassword(password)]
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    expect(again).not.toBe(stored)
    const [, , , , salt, hash] = stored.split('$')
    const cost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
    const nonce = Buffer.from(salt ?? '', 'base64')
    const derived = argon2Sync('argon2id', { message: password, nonce, ...cost })
    expect(derived.toString('base64').replace(/=+$/, '')).toBe(hash)
  })

  it('holds as it was set, and no other does', async () => {
    const stored = await hashPassword(password)
    expect(await verifyPassword(stored, password)).toEqual({ holds: true, rehash: false })
    for (const other of ['', `${password} `, password.toUpperCase()]) {
      expect(await verifyPassword(stored, other)).toEqual({ holds: false, rehash: false })
    }
  })

  it('never holds for an account without one, not even the empty one', async () => {
    for (const tried of [password, '']) {
      expect(await verifyPassword(null, tried)).toEqual({ holds: false, rehash: false })
    }
  })

  it('is to be hashed anew if it was stored by scrypt, or at a lower cost', async () => {
    const salt = randomBytes(16)
    const hash = scryptSync(password, salt, 32, { N: 2 ** 14, r: 8, p: 1 })
    const byScrypt = ['scrypt', 2 ** 14, 8, 1, salt.toString('base64url'), hash.toString('base64url')].join('$')
    expect(await verifyPassword(byScrypt, password)).toEqual({ holds: true, rehash: true })
    expect(await verifyPassword(byScrypt, 'another one')).toEqual({ holds: false, rehash: false })
    const cost = { memory: 8192, passes: 1, parallelism: 1, tagLength: 32 }
    const cheap = argon2Sync('argon2id', { message: password, nonce: salt, ...cost })
    const phc = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
    const stored = `$argon2id$v=19$m=8192,t=1,p=1$${phc(salt)}$${phc(cheap)}`
    expect(await verifyPassword(stored, password)).toEqual({ holds: true, rehash: true })
  })

  it.each([
    ['of no known scheme', 'plain$secret'],
    ['that costs without bound', '$argon2id$v=19$m=99999999,t=2,p=1$c2FsdHNhbHRzYWx0$aGFzaGhhc2g'],
  ])('is not compared with a hash %s', async (_, stored) => {
    await expect(verifyPassword(stored, password)).rejects.toThrow('does not know')
  })
})

describe('the queue of hashes', () => {
  const job = () => Promise.withResolvers<string>()

  it('runs two at once, lets the next wait, and refuses whoever comes to a full queue', async () => {
    const queue = new HashQueue({ atOnce: 2, mostWaiting: 1 })
    const [first, second, third] = [job(), job(), job()]
    const begun: string[] = []
    const run = (name: string, { promise }: { promise: Promise<string> }) =>
      queue.run(() => {
        begun.push(name)
        return promise
      })
    const runs = [run('first', first), run('second', second), run('third', third)]
    await expect(queue.run(async () => 'fourth')).rejects.toMatchObject({ status: 503, code: 'service_unavailable' })
    expect(begun).toEqual(['first', 'second'])
    first.resolve('a')
    expect(await runs[0]).toBe('a')
    third.resolve('c')
    expect(await runs[2]).toBe('c')
    expect(begun).toEqual(['first', 'second', 'third'])
    second.resolve('b')
    await runs[1]
  })

  it('gives a place back if a job fails', async () => {
    const queue = new HashQueue({ atOnce: 1, mostWaiting: 0 })
    await expect(queue.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await queue.run(async () => 'yes')).toBe('yes')
  })
})
