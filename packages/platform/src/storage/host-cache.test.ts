import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HostCache, HostFull, type WriteEntry } from './host-cache.ts'

const never = new AbortController().signal
const keepAll = () => true

let dir: string
let inUse: Set<string>
let requested: () => void
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-host-cache-'))
  inUse = new Set()
  requested = () => undefined
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const open = (bytes: number) =>
  new HostCache(dir, {
    bytes,
    inUse: async () => {
      requested()
      return new Set(inUse)
    },
  })
const writing =
  (bytes: number): WriteEntry =>
  async directory => {
    await writeFile(join(directory, 'content'), 'whole')
    return bytes
  }
const put = (cache: HostCache, name: string, bytes = 10) => cache.provide(name, bytes, writing(bytes), never)
const age = async (name: string, minutes: number) => {
  const then = new Date(Date.now() - minutes * 60_000)
  await utimes(join(dir, name), then, then)
}
const names = async () => (await readdir(dir)).toSorted()
/** Returns the names once the entries that made room are removed, for which `provide` does not wait. */
const namesLeft = async () => {
  await until('the removals', async () => !(await names()).some(name => name.startsWith('old-')))
  return names()
}

describe('an entry', () => {
  it('is written once, whoever asks, and appears whole', async () => {
    const cache = open(100)
    const { promise: goOn, resolve } = Promise.withResolvers<void>()
    let written = 0
    const write: WriteEntry = async directory => {
      written += 1
      await writeFile(join(directory, 'content'), 'whole')
      await goOn
      return 5
    }
    const asking = [cache.provide('one', 10, write, never), cache.provide('one', 10, write, never)]
    expect(await cache.find('one')).toBe(null)
    resolve()
    expect(await Promise.all(asking)).toEqual([join(dir, 'one'), join(dir, 'one')])
    expect(await open(0).provide('one', 10, write, never)).toBe(join(dir, 'one'))
    expect([written, await readFile(join(dir, 'one', 'content'), 'utf8'), await names()]).toEqual([1, 'whole', ['one']])
  })

  it('leaves nothing behind if it cannot be written, and can be had later', async () => {
    const cache = open(100)
    await expect(cache.provide('one', 10, () => Promise.reject(new Error('no')), never)).rejects.toThrow('no')
    expect(await names()).toEqual([])
    await put(cache, 'one')
  })

  it('is written on while anybody waits, and no longer', async () => {
    const cache = open(100)
    const [first, second] = [new AbortController(), new AbortController()]
    const begun = Promise.withResolvers<AbortSignal>()
    const write: WriteEntry = async (_, signal) => {
      begun.resolve(signal)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const waiting = cache.provide('one', 10, write, first.signal)
    const signal = await begun.promise
    // The first goes in the moment in which the second comes.
    const waitingToo = cache.provide('one', 10, write, second.signal)
    first.abort(new Error('first gone'))
    await expect(waiting).rejects.toThrow('first gone')
    expect(signal.aborted).toBe(false)
    second.abort(new Error('second gone'))
    await expect(waitingToo).rejects.toThrow('second gone')
    expect(signal.aborted).toBe(true)
    // Whoever comes next begins anew.
    await put(cache, 'one')
    await expect(put(cache, 'two').then(() => cache.provide('three', 1, write, AbortSignal.abort()))).rejects.toThrow()
  })

  it('of a process that was faster is taken', async () => {
    const path = await open(100).provide(
      'one',
      10,
      async () => {
        await put(open(100), 'one')
        return 10
      },
      never,
    )
    expect([path, await names()]).toEqual([join(dir, 'one'), ['one']])
  })
})

describe('room', () => {
  it('is made by the entries that were not used for longest', async () => {
    const cache = open(30)
    for (const name of ['one', 'two', 'three']) await put(cache, name)
    await age('one', 30)
    await age('two', 60)
    await age('three', 20)
    await put(cache, 'four', 15)
    expect(await namesLeft()).toEqual(['four', 'three'])
  })

  it('is never made by entries in use, or used just now', async () => {
    const cache = open(30)
    for (const name of ['shown', 'recent', 'idle']) await put(cache, name)
    await age('shown', 60)
    await age('idle', 60)
    inUse.add('shown')
    await expect(put(cache, 'large', 11)).rejects.toThrow(HostFull)
    expect(await namesLeft()).toEqual(['recent', 'shown'])
    await put(cache, 'small')
    expect(await namesLeft()).toEqual(['recent', 'shown', 'small'])
  })

  it('is reserved while an entry is written, also from other processes', async () => {
    const { promise: goOn, resolve } = Promise.withResolvers<void>()
    const first = open(30).provide(
      'large',
      25,
      async () => {
        await expect(put(open(30), 'other')).rejects.toThrow(HostFull)
        await goOn
        return 5
      },
      never,
    )
    resolve()
    await first
    await put(open(30), 'other')
    expect(await namesLeft()).toEqual(['large', 'other'])
  })

  it('is not made by an entry that somebody begins to use at that moment', async () => {
    const cache = open(15)
    await put(cache, 'one')
    await age('one', 60)
    const { ino } = await stat(join(dir, 'one'))
    let checks = 0
    requested = () => {
      checks += 1
      // Between the first look and the removal.
      if (checks === 1) inUse.add('one')
    }
    const first = inUse
    inUse = new Set()
    const putting = put(cache, 'two')
    inUse = first
    await expect(putting).rejects.toThrow(HostFull)
    expect((await stat(join(dir, 'one'))).ino).toBe(ino)
  })
})

describe('tidying', () => {
  it('removes what is not wanted or too much, and what dead processes left', async () => {
    const cache = open(100)
    for (const name of ['kept', 'gone', 'shown', 'recent']) await put(cache, name)
    for (const name of ['new-dead', 'old-dead', 'new-alive']) await mkdir(join(dir, name))
    for (const name of ['kept', 'gone', 'shown', 'new-dead', 'old-dead']) await age(name, 120)
    inUse.add('shown')
    expect(await cache.tidy(({ name }) => name === 'kept', never)).toBe(3)
    expect(await names()).toEqual(['kept', 'new-alive', 'recent', 'shown'])
    expect(await open(20).tidy(keepAll, never)).toBe(1)
    expect(await names()).toEqual(['new-alive', 'recent', 'shown'])
    expect(await open(0).tidy(keepAll, never)).toBe(0)
  })

  it('finds nothing where nothing was kept', async () => {
    await rm(dir, { recursive: true })
    expect(await open(1).tidy(keepAll, never)).toBe(0)
  })
})
