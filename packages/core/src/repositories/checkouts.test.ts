import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { lstat, mkdir, mkdtemp, readdir, realpath, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { HostCacheBounds } from '@berth/platform/storage/host-cache.ts'
import { lowerScripts } from '@berth/sandboxes/bubblewrap/files/lower-script.ts'
import type { LowerOwner } from '@berth/sandboxes/driver.ts'
import { mountsBelow } from '@berth/sandboxes/linux/unmount-below.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { hostCache } from '@berth/testing/storage/host-cache.ts'
import { until } from '@berth/testing/until.ts'
import { listingOf } from '@berth/testing/workspaces/trees.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { confinedGitEnvironment } from '../git/git-environment.ts'
import type { GitHost } from '../git-hosts/git-host.ts'
import { type Checkout, Checkouts, isLiveCheckout } from './checkouts.ts'
import { type MirroredCommit, Mirrors, objectsOf } from './mirrors.ts'

const signal = AbortSignal.timeout(120_000)
const UID = 190_018

// Only root mounts the overlays in which layers are written, and no other host keeps trees.
describe.runIf(process.getuid?.() === 0)('the checkouts of a host', () => {
  let dir = ''
  let url = ''
  let mirrors: Mirrors
  let owner: LowerOwner
  let host: GitHost
  let inUse: Set<string>
  beforeEach(async () => {
    dir = await realpath(await mkdtemp(join(tmpdir(), 'berth, checkouts:')))
    url = await sampleRepository(dir)
    mirrors = new Mirrors(join(dir, 'mirrors'), 1024 ** 3)
    const run = lowerScripts({ uid: UID, objects: id => mirrors.directoryOf(id) })
    const others = {
      tree: () => expect.unreachable(),
      layer: () => expect.unreachable(),
      lend: () => expect.unreachable(),
    }
    owner = { uid: UID, run, ...others }
    const own: Pick<GitHost, 'id' | 'access'> = { id: 'h', access: async () => ({ url }) }
    host = own as GitHost
    inUse = new Set()
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  const trees = () => join(dir, 'trees')
  const open = (bounds: Partial<HostCacheBounds> = {}) => {
    const cache = hostCache(trees(), { inUse: async () => inUse, ...bounds })
    return { cache, checkouts: new Checkouts(cache) }
  }
  const commitOf = (oid: string, organizationId = 'o'): MirroredCommit => {
    return { organizationId, host, repository: { account: 'a', repositoryId: '1' }, oid }
  }
  const tip = async (organizationId = 'o') => commitOf(await tipOf(url, 'main'), organizationId)
  const change = async (files: Readonly<Record<string, string | null>>) =>
    commitOf(await commitTo(url, 'main', await tipOf(url, 'main'), files))
  const provide = async (checkouts: Checkouts, commit: MirroredCommit, branch = 'main', within = signal) => {
    const mirror = await mirrors.provide(commit, signal)
    const refs = Buffer.from(`${commit.oid} refs/heads/${branch}\n${commit.oid} refs/remotes/origin/${branch}\n`)
    const names = async () => ({ branch, originUrl: 'https://host/r.git', refs })
    return checkouts.provide({ commit, mirror, names }, owner, within)
  }
  const entries = async () => (await readdir(trees())).toSorted()
  const layersOf = (checkout: Checkout) => checkout.lower.places.project ?? []
  /** Runs a script in the project as a sandbox would see it. */
  const shown = async (checkout: Checkout, commit: MirroredCommit, script: string) => {
    const at = await mkdtemp(join(dir, 'shown-'))
    const objects = objectsOf(await mirrors.provide(commit, signal))
    const program = await owner.run(
      at,
      layersOf(checkout).map(path => join(path, '..')),
      {
        ...{ kind: 'script', script: `cd /workspace/project; ${script}`, environment: confinedGitEnvironment, objects },
        ...{ trees: { workspace: 'write' }, readsAll: false },
        bounds: { memoryBytes: 1024 ** 3, cpuSeconds: 20, fileBytes: 1024 ** 3 },
      },
    )
    program.input.end()
    const output = await text(program.output)
    expect(await program.ended).toBe('0')
    return output
  }
  const age = async () => {
    const old = new Date(Date.now() - 3_600_000)
    for (const name of await entries()) await utimes(join(trees(), name), old, old)
  }

  it('are made once, whole and clean, for the user of lower trees', async () => {
    const { checkouts } = open()
    const commit = await tip()
    const [first, second] = await Promise.all([provide(checkouts, commit), provide(checkouts, commit)])
    expect([first.origin, second.origin].toSorted()).toEqual(['kept', 'made'])
    expect(await provide(checkouts, commit)).toMatchObject({ origin: 'kept', lower: first.lower })
    const [path = ''] = layersOf(first)
    expect((await lstat(join(path, 'greet.sh'))).uid).toBe(UID)
    const seen = await shown(
      first,
      commit,
      'git status --short --branch; git config remote.origin.url; git fsck | grep -v dangling; :',
    )
    expect(seen).toBe('## main...origin/main\nhttps://host/r.git\n')
    expect(await entries()).toEqual([checkouts.nameOf(commit)])
  })

  it('are of one organization: another one never gets its tree', async () => {
    const { checkouts } = open()
    const [ours, theirs] = [await tip(), await tip('other')]
    const first = await provide(checkouts, ours)
    const second = await provide(checkouts, theirs)
    expect([second.origin, await entries()]).toEqual([
      'made',
      [ours, theirs].map(one => checkouts.nameOf(one)).toSorted(),
    ])
    expect(layersOf(second)).not.toEqual(layersOf(first))
    const later = { ...theirs, oid: (await change({ new: 'file' })).oid }
    expect(layersOf(await provide(checkouts, later)).join()).not.toContain(layersOf(first)[0])
  })

  it('tell whether their names are those of another branch', async () => {
    const { checkouts } = open()
    const commit = await tip()
    const first = await provide(checkouts, commit)
    const other = await provide(checkouts, commit, 'other')
    expect([other.origin, other.namesDigest]).toEqual(['kept', first.namesDigest])
  })

  it('are derived from the nearest one as layers, of which there are three at most', async () => {
    const { checkouts } = open()
    const commits = [await tip()]
    const [base] = commits.map(commit => provide(checkouts, commit))
    const before = listingOf(layersOf((await base) as Checkout)[0] ?? '')
    commits.push(await change({ one: '1', 'greet.sh': null }), await change({ two: '2' }), await change({ three: '3' }))
    const made: Checkout[] = []
    for (const commit of commits.slice(1)) made.push(await provide(checkouts, commit))
    expect(made.map(checkout => [checkout.origin, layersOf(checkout).length])).toEqual([
      ['derived', 2],
      ['derived', 3],
      ['derived', 3],
    ])
    for (const [index, checkout] of made.entries()) {
      const commit = commits[index + 1] as MirroredCommit
      const seen = await shown(
        checkout,
        commit,
        'git rev-parse HEAD; git status --short; ls one two three greet.sh 2>/dev/null | xargs; :',
      )
      expect(seen).toBe(`${commit.oid}\n${['one', 'one two', 'one three two'][index]}\n`)
    }
    expect(listingOf(layersOf((await base) as Checkout)[0] ?? '')).toEqual(before)
    // A layer holds the changes alone.
    expect(await readdir(layersOf(made[1] as Checkout)[0] ?? '')).toEqual(['.git', 'two'])
    expect((await readdir(join(trees(), checkouts.nameOf(commits[1] as MirroredCommit)))).toSorted()).toEqual([
      'base',
      'bytes',
      'names',
      'workspace',
    ])
    expect(await mountsBelow(dir)).toEqual([])
  })

  it('stay while a layer lies over them or a lease has them, and go the least recently used first', async () => {
    const { checkouts, cache } = open()
    const [base, next] = [await tip(), await change({ one: '1' })]
    const names = [base, next].map(commit => checkouts.nameOf(commit))
    for (const commit of [base, next]) await provide(checkouts, commit)
    await age()
    inUse.add(names[1] ?? '')
    const tight = open({ bytes: 1 }).cache
    expect(await tight.tidy(isLiveCheckout, signal)).toBe(0)
    expect(await cache.discard(names[0] ?? '')).toBe(false)
    inUse.clear()
    expect(await tight.tidy(isLiveCheckout, signal)).toBe(1)
    expect(await entries()).toEqual([names[0]])
    expect(await tight.tidy(isLiveCheckout, signal)).toBe(1)
  })

  it('are made again if they are damaged, unless a sandbox shows them', async () => {
    const { checkouts } = open()
    const commit = await tip()
    const first = await provide(checkouts, commit)
    for (const damage of ['.git/index', '.git', '..']) {
      await rm(join(layersOf(first)[0] ?? '', damage), { recursive: true })
      expect((await provide(checkouts, commit)).origin).toBe('made')
    }
    await rm(join(layersOf(first)[0] ?? '', '.git'), { recursive: true })
    inUse.add(checkouts.nameOf(commit))
    await expect(provide(checkouts, commit)).rejects.toThrow('is damaged')
  })

  it('are made in whole if the mirror has lost the commit of the nearest one', async () => {
    const { checkouts } = open()
    await provide(checkouts, await tip())
    const rewritten = commitOf(await commitTo(url, 'main', `${await tipOf(url, 'main')}~1`, { other: 'history' }))
    execFileSync('git', ['-C', url, '-c', 'gc.reflogExpire=now', 'gc', '--quiet', '--prune=now'])
    await rm(join(dir, 'mirrors'), { recursive: true })
    const checkout = await provide(checkouts, rewritten)
    expect([checkout.origin, await shown(checkout, rewritten, 'git status --short; cat other')]).toEqual([
      'made',
      'history',
    ])
  })

  it('are made by the next process wherever one is killed, and what that has left goes', async () => {
    await provide(open().checkouts, await tip())
    // Where it gets SIGKILL: before git, as soon as git has written that path, or once git has ended.
    const moments = ['', 'project/.git', 'project/.git/packed-refs', 'project/new', 'ended']
    const modules = ['./checkouts.ts', './mirrors.ts'].map(path => new URL(path, import.meta.url).href)
    const program = `
      import { existsSync } from 'node:fs'
      import { lowerScripts } from '@berth/sandboxes/bubblewrap/files/lower-script.ts'
      import { hostCache } from '@berth/testing/storage/host-cache.ts'
      import { Checkouts } from '${modules[0]}'
      import { Mirrors } from '${modules[1]}'
      const { dir, uid, moment, refs, ...order } = JSON.parse(process.argv[1])
      const mirrors = new Mirrors(dir + '/mirrors', 1024 ** 3)
      const start = lowerScripts({ uid, objects: id => mirrors.directoryOf(id) })
      const die = () => process.kill(process.pid, 'SIGKILL')
      async function run(directory, ...program) {
        if (moment === '') die()
        const run = await start(directory, ...program)
        const look = () => (existsSync(directory + '/workspace/' + moment) ? die() : setImmediate(look))
        look()
        return { ...run, ended: run.ended.finally(die) }
      }
      const names = async () => ({ branch: 'main', originUrl: null, refs: Buffer.from(refs) })
      const signal = AbortSignal.timeout(60_000)
      await new Checkouts(hostCache(dir + '/trees')).provide({ ...order, names }, { uid, run }, signal)`
    for (const [index, moment] of moments.entries()) {
      const commit = await change({ new: `of ${index}`, 'greet.sh': null })
      const refs = `${commit.oid} refs/heads/main\n${commit.oid} refs/remotes/origin/main\n`
      const order = { dir, uid: UID, moment, refs, commit, mirror: await mirrors.provide(commit, signal) }
      const args = ['--input-type=module', '-e', program, JSON.stringify(order)]
      await using child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
      await until('the end of git', async () => spawnSync('pgrep', ['-u', String(UID)]).status === 1)
      const checkout = await provide(open().checkouts, commit)
      expect(checkout.origin).toBe('derived')
      const seen = await shown(checkout, commit, 'git rev-parse HEAD; git status --short; ls greet.sh 2>/dev/null; :')
      expect(seen).toBe(`${commit.oid}\n`)
      expect(await mountsBelow(dir)).toEqual([])
    }
    const left = async () => (await entries()).filter(name => name.startsWith('new-'))
    expect(await left()).toHaveLength(moments.length)
    const layers = (await entries()).length - moments.length
    await age()
    expect(await open().cache.tidy(isLiveCheckout, signal)).toBe(moments.length)
    expect([await left(), (await entries()).length]).toEqual([[], layers])
  })

  it('leave nothing behind if the disk is full, or nobody waits any more', async () => {
    const commit = await change({ large: 'x'.repeat(300_000) })
    const full = open({ free: async () => ({ bytes: 1024 ** 4, inodes: 3 }) })
    await expect(provide(full.checkouts, commit)).rejects.toThrow('no room for another entry')
    await mkdir(trees(), { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', trees()])
    try {
      const lying = open({ free: async () => ({ bytes: 1024 ** 4, inodes: 1024 }) })
      await expect(provide(lying.checkouts, commit)).rejects.toThrow(/No space left|unable to write/)
      expect(await entries()).toEqual([])
    } finally {
      execFileSync('umount', [trees()])
    }
    const stopped = new AbortController()
    const waiting = provide(open().checkouts, commit, 'main', stopped.signal)
    stopped.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow()
    await rm(trees(), { recursive: true, force: true })
    expect((await provide(open().checkouts, commit)).origin).toBe('made')
  })
})
