import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MasterKey } from '../master-key.ts'
import { requireDeploymentKey } from './deployment-key.ts'

const given = Buffer.alloc(32, 7)
const other = Buffer.alloc(32, 8)

let db: TestDatabase
let directory: string
let logs: unknown[]

beforeEach(async () => {
  db = await createTestDatabase()
  directory = await mkdtemp(join(tmpdir(), 'berth-key-'))
  logs = []
})
afterEach(async () => {
  await db[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

/** A process with a data directory of its own, or a shared one. */
async function source(options: { key?: Uint8Array; dataDir?: string } = {}) {
  const dataDir = options.dataDir ?? join(directory, 'data')
  await mkdir(dataDir, { recursive: true })
  return { key: options.key, dataDir, log: { info: (line: unknown) => void logs.push(line), warn() {}, error() {} } }
}

async function load(options: Parameters<typeof source>[0] = {}): Promise<MasterKey> {
  return requireDeploymentKey(db.database, await source(options))
}

const file = () => join(directory, 'data', 'master.key')

describe('the key file', () => {
  test('is made once with mode 0600, is logged, and is the same for all processes that start at once', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => load()))
    expect(new Set(keys.map(each => each.id)).size).toBe(1)
    expect(await readdir(join(directory, 'data'))).toEqual(['master.key'])
    expect((await stat(file())).mode & 0o777).toBe(0o600)
    expect(logs).toEqual([{ path: file(), keyId: keys[0]?.id }])
    expect((await load()).id).toBe(keys[0]?.id)
  })

  test('is not read if the settings hold a key', async () => {
    expect((await load({ key: given })).id).toBe(new MasterKey(given).id)
    expect(await readdir(join(directory, 'data'))).toEqual([])
    expect(logs).toEqual([])
  })

  test('is refused if it holds no key or others can read it', async () => {
    await source()
    await writeFile(file(), 'nonsense', { mode: 0o600 })
    await expect(load()).rejects.toThrow('is not 32 bytes in base64')
    await chmod(file(), 0o644)
    await expect(load()).rejects.toThrow('is open to other users: chmod 600 it')
  })

  test('is not made again if it was lost, and nothing is written', async () => {
    const { id } = await load()
    await rm(file())
    await expect(load()).rejects.toThrow(
      `the master key ${file()} is missing, and this database uses key ${id}: bring the file back, or give every process`,
    )
    expect(await readdir(join(directory, 'data'))).toEqual([])
  })
})

describe('processes of one database', () => {
  test('cannot each make a key in a data directory of its own', async () => {
    const starts = await Promise.allSettled(['a', 'b', 'c'].map(name => load({ dataDir: join(directory, name) })))
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const files = await Promise.all(['a', 'b', 'c'].map(name => readdir(join(directory, name))))
    expect(files.flat()).toEqual(['master.key'])
  })

  test('are refused if they hold another key, whether they seal or not', async () => {
    const { id } = await load({ key: given })
    const refusal = `BERTH_MASTER_KEY holds master key ${new MasterKey(other).id}, this database uses key ${id}: give every process`
    await expect(load({ key: other })).rejects.toThrow(refusal)
  })

  test('adopt the key that a deployment had before its first start with this release', async () => {
    await source()
    await writeFile(file(), given.toString('hex'), { mode: 0o600 })
    expect((await load()).id).toBe(new MasterKey(given).id)
    await expect(load({ key: other })).rejects.toThrow('this database uses key')
  })
})
