import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { limited, listingOf, owners, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cacheLimits } from '../../checkpoints/limits.ts'
import type { CacheRow } from './cache-sql.ts'
import { type CachePlace, restoreCache, type SealedCache, sealCache } from './cache-trees.ts'

beforeAll(() => TreeLab.build())

describe.each(owners)('a cache of trees that belong to %s', uid => {
  let lab: TreeLab
  beforeAll(async () => {
    lab = await TreeLab.open(uid)
  })
  afterAll(() => lab[Symbol.dispose]())

  const paths = ['~/.cache/tool', 'deps', 'single', 'a/b']
  /** Returns the place of a sandbox whose trees have this name. */
  function placeOf(name: string, options: Partial<CachePlace> = {}): CachePlace {
    const [home, workspace, baselines] = [
      lab.place(`${name}-home`),
      lab.place(`${name}-work`),
      lab.path(`${name}-base`),
    ]
    for (const directory of [home.path, workspace.path, baselines]) mkdirSync(directory, { recursive: true })
    lab.own(`${name}-home`)
    lab.own(`${name}-work`)
    const trees = {
      home: lab.tree(`${name}-home`, { baselines: `${name}-base/cache-home` }),
      workspace: lab.tree(`${name}-work`, { baselines: `${name}-base/cache-workspace` }),
    }
    const signal = AbortSignal.timeout(60_000)
    return { trees, blobs: lab.blobs, paths, limits: cacheLimits, signal, ...options }
  }
  function makeFull(name: string): CachePlace {
    lab.make(`${name}-home`, { '.cache/tool/x': 'x', '.cache/other': 'not cached', '.profile': 'not cached' })
    lab.make(`${name}-work`, {
      'deps/one': 'one',
      'deps/sub': { directory: true, mode: 0o500 },
      'deps/link': { link: 'one' },
      single: { content: 'a file', mode: 0o640 },
      'a/b/c': 'deep',
      'a/d': 'not cached',
    })
    return placeOf(name)
  }
  const rowOf = (sealed: SealedCache): CacheRow => {
    if (sealed.kind !== 'sealed') throw new Error(sealed.kind)
    return { ...sealed, branch: '', searched: Buffer.alloc(0), saved_at: new Date() }
  }

  it('holds the paths alone, and puts them into empty trees as they were', async () => {
    const row = rowOf(await sealCache(makeFull('full'), [], null))
    await restoreCache(placeOf('empty'), row)
    const [home, work] = [listingOf(lab.path('empty-home')), listingOf(lab.path('empty-work'))]
    expect(Object.keys(home)).toEqual(['.cache', '.cache/tool', '.cache/tool/x'])
    expect(Object.keys(work)).toEqual(['a', 'a/b', 'a/b/c', 'deps', 'deps/link', 'deps/one', 'deps/sub', 'single'])
    const full = listingOf(lab.path('full-work'))
    for (const path of ['deps', 'deps/link', 'deps/one', 'deps/sub', 'single', 'a/b', 'a/b/c'])
      expect([path, work[path]]).toEqual([path, full[path]])
  })

  it('leaves alone what exists, and what no directory leads to', async () => {
    const row = rowOf(await sealCache(makeFull('left'), [], null))
    lab.make('target-home', { '.cache': { link: '/elsewhere' } })
    lab.make('target-work', { 'deps/mine': 'mine', 'a/kept': 'kept' })
    const place = placeOf('target')
    await restoreCache(place, row)
    expect(Object.keys(listingOf(lab.path('target-home')))).toEqual(['.cache'])
    expect(Object.keys(listingOf(lab.path('target-work')))).toEqual([
      ...['a', 'a/b', 'a/b/c', 'a/kept'],
      ...['deps', 'deps/mine', 'single'],
    ])
    // What was there before is read for the next save, although the cache has an entry of that name.
    const again = rowOf(await sealCache(place, [], row))
    await restoreCache(placeOf('again'), again)
    expect(Object.keys(listingOf(lab.path('again-work')))).toContain('deps/mine')
    expect(Object.keys(listingOf(lab.path('again-work')))).not.toContain('deps/one')
  })

  it('is the same if nothing has changed, and searches what has changed for secrets', async () => {
    const row = rowOf(await sealCache(makeFull('same'), [], null))
    const place = placeOf('changed')
    await restoreCache(place, row)
    expect(await sealCache(place, ['hunter22'], row)).toMatchObject({
      home_manifest: row.home_manifest,
      workspace_manifest: row.workspace_manifest,
    })
    lab.make('extra', { x: `${'-'.repeat(1024 ** 2 - 4)}hunter22` })
    execFileSync('cp', ['-a', lab.path('extra/x'), lab.path('changed-work/deps/new')])
    expect(await sealCache(place, ['hunter22'], row)).toEqual({ kind: 'secret', path: 'deps/new' })
  })

  it('is not saved over a limit, and says with which path', async () => {
    const place = makeFull('large')
    expect(await sealCache({ ...place, limits: limited({ files: 2 }) }, [], null)).toEqual({
      kind: 'size',
      path: '~/.cache/tool',
    })
    // Home and workspace count together.
    expect(await sealCache({ ...place, limits: limited({ files: 6 }) }, [], null)).toEqual({
      kind: 'size',
      path: 'deps',
    })
    expect(await sealCache({ ...place, limits: limited({ storedBytes: 400 }) }, [], null)).toMatchObject({
      kind: 'size',
    })
  })

  it('is dropped whole if a part of it is missing, malformed or not what was asked for', async () => {
    const row = rowOf(await sealCache(makeFull('broken'), [], null))
    const cases: readonly [string, Partial<CacheRow>, readonly string[]][] = [
      ['malformed', { workspace_manifest: '{}' }, paths],
      [
        'missing',
        {
          workspace_manifest:
            row.workspace_manifest?.replace(/"sha256":"./, other =>
              other.endsWith('0') ? '"sha256":"1' : '"sha256":"0',
            ) ?? null,
        },
        paths,
      ],
      ['malformed', {}, ['~/.cache/tool', 'deps']],
    ]
    for (const [at, [code, change, requested]] of cases.entries()) {
      const place = placeOf(`dropped-${at}`, { paths: requested })
      await expect(restoreCache(place, { ...row, ...change })).rejects.toMatchObject({ code })
      // The home's part came first, and was taken back.
      expect(listingOf(lab.path(`dropped-${at}-home`))).not.toHaveProperty(['.cache/tool'])
      expect(listingOf(lab.path(`dropped-${at}-work`))).toEqual({})
    }
  })

  it('goes on after a restore that broke off', async () => {
    const row = rowOf(await sealCache(makeFull('cut'), [], null))
    const place = placeOf('resumed')
    const killed = AbortSignal.abort(new Error('killed'))
    await expect(restoreCache({ ...place, signal: killed }, row)).rejects.toThrow('killed')
    lab.make('rest', { '.berth-cache/deps/half': 'half', '.berth-cache/single': 'half' })
    execFileSync('cp', ['-a', lab.path('rest/.berth-cache'), lab.path('resumed-work/')])
    await restoreCache(place, row)
    expect(Object.keys(listingOf(lab.path('resumed-work')))).toEqual([
      ...['a', 'a/b', 'a/b/c', 'deps', 'deps/link', 'deps/one', 'deps/sub', 'single'],
    ])
  })
})
