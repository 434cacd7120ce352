import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loadMasterKey, MasterKey, parseMasterKey, UnsealError } from './master-key.ts'

const key = new MasterKey(Buffer.alloc(32, 7))

describe('sealing', () => {
  test('what is sealed opens in its context, and says nothing before', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8 }), fc.string(), (secret, context) => {
        const sealed = key.seal(secret, context)
        expect(sealed.includes(secret)).toBe(false)
        expect(key.open(sealed, context).toString()).toBe(Buffer.from(secret).toString())
        expect(() => key.open(sealed, `${context}x`)).toThrow(UnsealError)
      }),
    )
  })

  test('any changed byte, and any cut, is noticed', () => {
    const sealed = key.seal('secret', 'here')
    for (let index = 0; index < sealed.length; index += 1) {
      const altered = Buffer.from(sealed)
      altered.writeUInt8(altered.readUInt8(index) ^ 1, index)
      expect(() => key.open(altered, 'here')).toThrow(UnsealError)
      expect(() => key.open(sealed.subarray(0, index), 'here')).toThrow(UnsealError)
    }
  })

  test('the same secret is sealed differently each time', () => {
    expect(key.seal('secret', 'here').equals(key.seal('secret', 'here'))).toBe(false)
  })

  test('another key is told apart by its id', () => {
    const other = new MasterKey(Buffer.alloc(32, 8))
    expect(() => other.open(key.seal('secret', 'here'), 'here')).toThrow(
      `sealed under master key ${key.id}, this one is ${other.id}`,
    )
  })
})

test('keys are read from base64, base64url and hexadecimal digits of 32 bytes', () => {
  const bytes = Buffer.alloc(32, 0xfb)
  for (const encoding of ['base64', 'base64url', 'hex'] as const) {
    expect(parseMasterKey(bytes.toString(encoding))?.equals(bytes)).toBe(true)
  }
  for (const text of ['', 'short', 'a'.repeat(63), Buffer.alloc(31).toString('base64'), `${bytes.toString('hex')}\n`]) {
    expect(parseMasterKey(text)).toBeUndefined()
  }
})

describe('the key file', () => {
  let dataDir: string

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'berth-key-'))
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  test('is made once, 0600, the same for all who start at once', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadMasterKey({ key: undefined, dataDir })))
    expect(new Set(keys.map(each => each.id)).size).toBe(1)
    expect(await readdir(dataDir)).toEqual(['master.key'])
    expect((await stat(join(dataDir, 'master.key'))).mode & 0o777).toBe(0o600)
    expect((await loadMasterKey({ key: undefined, dataDir })).id).toBe(keys[0]?.id)
  })

  test('is not looked at when the settings hold a key', async () => {
    expect((await loadMasterKey({ key: Buffer.alloc(32, 7), dataDir })).id).toBe(key.id)
    expect(await readdir(dataDir)).toEqual([])
  })

  test('that others can read, or that is none, is refused', async () => {
    const path = join(dataDir, 'master.key')
    await writeFile(path, 'nonsense', { mode: 0o600 })
    await expect(loadMasterKey({ key: undefined, dataDir })).rejects.toThrow('is not 32 bytes in base64')
    await chmod(path, 0o644)
    await expect(loadMasterKey({ key: undefined, dataDir })).rejects.toThrow('is open to others: chmod 600 it')
  })
})
