import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type HostCacheBounds, HostFull } from '@berth/platform/storage/host-cache.ts'
import { layerTree } from '@berth/sandboxes/bubblewrap/files/layer-above.ts'
import { directoryTree } from '@berth/sandboxes/confined/directory-tree.ts'
import type { LowerOwner, LowerTrees } from '@berth/sandboxes/driver.ts'
import { hostCache } from '@berth/testing/storage/host-cache.ts'
import { until } from '@berth/testing/until.ts'
import { owners, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { lendBaseline, sealNameOf } from './base-seals.ts'
import { type CheckpointOrder, CheckpointTrees, isLiveCheckpoint } from './checkpoint-trees.ts'
import { RestoreRefused } from './errors.ts'
import { workspaceLimits } from './limits.ts'
import type { SealedTree } from './seal-tree.ts'

const never = new AbortController().signal
const limits = { workspace: workspaceLimits, home: workspaceLimits }
const BASE = 'checkout-of-a-commit'

beforeAll(() => TreeLab.build())

// Only root mounts the overlays in which layers are written.
describe.runIf(process.getuid?.() === 0)('the checkpoints of a host', () => {
  let lab: TreeLab
  let owner: LowerOwner
  let held: string[]
  beforeEach(async () => {
    lab = await TreeLab.open(owners[0])
    const { tools, uid = 0 } = lab
    owner = {
      uid,
      tree: (path, baselines) => directoryTree(tools, { path, uid }, baselines),
      layer: (directory, layers, baselines) => layerTree(tools, uid, { directory, layers, baselines }),
      lend: () => expect.unreachable(),
      run: () => expect.unreachable(),
    }
    held = []
  })
  afterEach(() => lab[Symbol.dispose]())

  const dir = () => lab.path('trees')
  const opened = (bounds: Partial<HostCacheBounds> = {}) => {
    const cache = hostCache(dir(), bounds)
    return { cache, trees: new CheckpointTrees(cache, lab.blobs) }
  }
  const orderOf = ({ manifest }: SealedTree, changes: Partial<CheckpointOrder> = {}): CheckpointOrder => ({
    ...{ organizationId: 'o', workspaceManifest: manifest.toString(), homeManifest: null, limits, base: BASE },
    hold: async name => void held.push(name),
    ...changes,
  })
  const project = {
    'project/.git/HEAD': 'ref: refs/heads/main',
    'project/src/deep/er/a': 'alpha',
    'project/src/b': 'bravo',
    'project/run': { content: '#!', mode: 0o755, mtime: 1_700_000_000 },
    'project/same-size': { content: 'one', mtime: 1_700_000_000 },
    'project/big': Buffer.alloc(3_000_000, 7),
    'project/turns/into/files': '1',
    'project/turned': 'a file',
    'project/again/old': 'old',
    'project/gone/x': 'x',
    'project/link': { link: 'src/b' },
    'project/odd \xff\xfe\n"name': 'odd',
    'project/nothing': { directory: true },
    'project/empty': '',
    ...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`project/more/${n}`, `${n}`])),
  } as const
  /** Makes the entry of a checkout, and a workspace with the same files and times. */
  const base = async (cache: ReturnType<typeof hostCache>) => {
    const write = async (fresh: string) => {
      lab.make('base', project)
      execFileSync('cp', ['-a', lab.path('base'), join(fresh, 'workspace')])
      return 1
    }
    const path = await cache.provide(BASE, 1, write, never)
    execFileSync('cp', ['-a', join(path, 'workspace'), lab.path('work')])
    return join(path, 'workspace')
  }
  const change = (script: string) => {
    execFileSync('bash', ['-ec', script], { cwd: lab.path('work/project') })
    lab.own('work')
  }
  /** Returns the layers of a tree's workspace, topmost first. */
  const layersOf = ({ places }: LowerTrees) =>
    places.workspace ?? (places.project ?? []).map(path => path.replace(/\/project$/, ''))
  /** Seals what a sandbox would see, building on the checkpoint as its first seal does. */
  const sealAgain = async (lower: LowerTrees, { manifest }: SealedTree) => {
    const at = lab.path(`seen-${readdirSync(lab.dir).length}`)
    await mkdir(at)
    const baselines = `${at}.baselines`
    execFileSync('cp', ['-a', lower.baselines.workspace ?? '', baselines])
    return lab.sealed('', { tree: await owner.layer(at, layersOf(lower), baselines), previous: manifest })
  }

  it.for(['its seal', 'its files'])(
    'are layers over the checkout with what differs from %s alone, and the same to the byte',
    async known => {
      const { cache, trees } = opened()
      const below = await base(cache)
      if (known === 'its seal') await trees.bases.provide(BASE, owner, workspaceLimits, never)
      const before = lab.list(`trees/${BASE}/workspace`)
      change(`
      echo more >> src/b; chmod 700 run; printf two > same-size; touch -d @1700000000 same-size
      rm -r turns; echo f > turns; rm turned; mkdir -p turned/into; echo d > turned/into/dir
      rm -r again; mkdir again; echo new > again/new; rm -r gone; rm link; ln -s run link
      mkdir -m 500 closed; mkdir "new dir"; printf odd > $'new\\xff'; touch -d @1600000000 src/deep`)
      const sealed = await lab.sealed('work')
      const lower = await trees.provide(orderOf(sealed), owner, never)
      if (lower === null) throw new Error('nothing is shown')
      expect(lower.places.project).toEqual([join(dir(), held[0] ?? '', 'workspace/project'), join(below, 'project')])
      const again = await sealAgain(lower, sealed)
      expect(again.manifest.toString()).toBe(sealed.manifest.toString())
      expect(again.readBytes).toBe(0)
      const [top = ''] = layersOf(lower)
      expect(readdirSync(join(top, 'project')).toSorted()).not.toContain('big')
      expect(readdirSync(join(top, 'project/src')).toSorted()).toEqual(['b', 'deep'])
      expect(readdirSync(join(dir(), held[0] ?? '')).toSorted()).toEqual(['base', 'baselines', 'bytes', 'workspace'])
      // The base has not changed.
      expect(lab.list(`trees/${BASE}/workspace`)).toEqual(before)
    },
  )

  it('look at no file below a directory of the checkout that its seal tells of', async () => {
    const { cache, trees } = opened()
    await base(cache)
    const seal = (await trees.bases.provide(BASE, owner, workspaceLimits, never)) ?? expect.unreachable()
    expect(await trees.bases.provide(BASE, owner, workspaceLimits, never)).toEqual(seal)
    change('echo more >> src/b; rm more/3; printf two > same-size; touch -d @1700000000 same-size; rm -r gone')
    const sealed = await lab.sealed('work')
    // Nobody may do this; it shows which files are looked at.
    const read = join(dir(), BASE, 'workspace/project/src/deep/er/a')
    writeFileSync(read, 'other')
    const lower = (await trees.provide(orderOf(sealed), owner, never)) ?? expect.unreachable()
    const [top = ''] = layersOf(lower)
    expect(readdirSync(join(top, 'project')).toSorted()).toEqual(['gone', 'more', 'same-size', 'src'])
    expect(readdirSync(join(top, 'project/src'))).toEqual(['b'])
  })

  it('begin with a seal of the checkout, made again if the store has lost some of it', async () => {
    const { cache, trees } = opened()
    const below = await base(cache)
    const provide = () => trees.bases.provide(BASE, owner, workspaceLimits, never)
    // Two processes make it at once.
    const other = opened().trees.bases.provide(BASE, owner, workspaceLimits, never)
    const { manifest, baselines } = (await provide()) ?? expect.unreachable()
    expect(await other).toEqual({ manifest, baselines })
    await lab.restore(manifest, 'restored')
    expect(lab.list('restored')).toEqual(lab.list(`trees/${BASE}/workspace`))
    expect(await readdir(dir())).toEqual([BASE, sealNameOf(BASE)])
    const at = lab.path('first')
    await mkdir(join(at, 'baselines'), { recursive: true })
    await lendBaseline({ manifest, baselines }, join(at, 'baselines'))
    const tree = await owner.layer(at, [below], join(at, 'baselines'))
    expect(await lab.sealed('', { tree, previous: manifest })).toMatchObject({ readBytes: 0, manifest })
    execFileSync('find', [lab.path('blobs'), '-type', 'f', '-delete'])
    expect((await provide())?.manifest).toEqual(manifest)
    await lab.restore(manifest, 'again')
    await cache.discard(sealNameOf(BASE))
    await cache.discard(BASE)
    expect(await provide()).toBeNull()
  })

  it('lie over the checkout itself however long the line of forks is', async () => {
    const { cache, trees } = opened()
    const below = await base(cache)
    let previous: SealedTree | undefined
    for (const fork of ['first', 'second', 'third', 'fourth']) {
      change(`echo ${fork} > ${fork}; rm -f empty`)
      const sealed: SealedTree = await lab.sealed('work', { previous: previous?.manifest })
      const lower = await trees.provide(orderOf(sealed), owner, never)
      if (lower === null) throw new Error('nothing is shown')
      expect(layersOf(lower).slice(1)).toEqual([below])
      expect((await sealAgain(lower, sealed)).manifest.toString()).toBe(sealed.manifest.toString())
      previous = sealed
    }
  })

  it('are written once for all who wait, and apart for each organization', async () => {
    const { cache, trees } = opened()
    await base(cache)
    change('echo changed > src/b')
    const sealed = await lab.sealed('work')
    const ten = await Promise.all(Array.from({ length: 10 }, () => trees.provide(orderOf(sealed), owner, never)))
    expect(new Set(ten.map(lower => JSON.stringify(lower))).size).toBe(1)
    const names = async () => (await readdir(dir())).filter(name => name !== BASE)
    expect(await names()).toEqual([held[0]])
    await trees.provide(orderOf(sealed, { organizationId: 'p' }), owner, never)
    expect(await names()).toHaveLength(2)
    expect(isLiveCheckpoint({ name: held[0] ?? '', usedAt: new Date() })).toBe(true)
    expect(isLiveCheckpoint({ name: held[0] ?? '', usedAt: new Date(Date.now() - 25 * 3_600_000) })).toBe(false)
  })

  it('are made by the next process wherever one is killed', async () => {
    const { cache, trees } = opened()
    const below = await base(cache)
    await trees.bases.provide(BASE, owner, workspaceLimits, never)
    change('echo changed > src/b; rm -r gone; mkdir new; echo x > new/x')
    const sealed = await lab.sealed('work')
    const program = `
      import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
      import { layerTree } from '@berth/sandboxes/bubblewrap/files/layer-above.ts'
      import { hostCache } from '@berth/testing/storage/host-cache.ts'
      import { CheckpointTrees } from '${new URL('./checkpoint-trees.ts', import.meta.url)}'
      const { dir, tools, uid, step, order } = JSON.parse(process.argv[1])
      const at = reached => reached === step && process.kill(process.pid, 'SIGKILL')
      async function layer(directory, layers, baselines) {
        const tree = await layerTree(tools, uid, { directory, layers, baselines })
        at('start')
        async function run(...program) {
          const run = await tree.run(...program)
          at('work')
          return { ...run, ended: run.ended.finally(() => at('end')) }
        }
        return { ...tree, run, settle: (...end) => tree.settle(...end).finally(() => at('settled')) }
      }
      const trees = new CheckpointTrees(hostCache(dir + '/trees'), await FileBlobs.open(dir + '/blobs'))
      await trees.provide({ ...order, hold: async () => {} }, { uid, layer }, new AbortController().signal)`
    for (const step of ['start', 'work', 'end', 'settled']) {
      const order = { ...{ dir: lab.dir, tools: lab.tools, uid: owner.uid, step }, order: orderOf(sealed) }
      const args = ['--input-type=module', '-e', program, JSON.stringify(order)]
      await using child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
      expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
      expect((await readdir(dir())).filter(name => name.startsWith('checkpoint-'))).toEqual([])
      const mounted = ['-c', 'cat /proc/[0-9]*/mountinfo 2>/dev/null | grep -c "$0" || :', lab.dir]
      await until('the end of its program', async () => execFileSync('sh', mounted, { encoding: 'utf8' }) === '0\n')
      const lower = (await opened().trees.provide(orderOf(sealed), owner, never)) ?? expect.unreachable()
      expect(layersOf(lower).slice(1)).toEqual([below])
      expect((await sealAgain(lower, sealed)).manifest.toString()).toBe(sealed.manifest.toString())
      expect(await cache.discard(held[0] ?? '')).toBe(true)
    }
  })

  it('are whole where the checkout is gone, or most files differ from it', async () => {
    const { cache, trees } = opened()
    const below = await base(cache)
    change('find . -type f -exec touch {} +')
    const sealed = await lab.sealed('work')
    const lower = await trees.provide(orderOf(sealed), owner, never)
    expect(layersOf(lower ?? expect.unreachable())).toEqual([join(dir(), held[1] ?? '', 'workspace')])
    expect(lab.list(`trees/${held[1]}/workspace`)).toEqual(lab.list('work'))
    await rm(join(below, '..'), { recursive: true })
    change('echo other > src/b')
    const next = await lab.sealed('work')
    const whole = (await trees.provide(orderOf(next), owner, never)) ?? expect.unreachable()
    expect(whole.places.project).toHaveLength(1)
    expect((await sealAgain(whole, next)).readBytes).toBe(0)
  })

  it('show the whole workspace if it has more than the repository, and are left to the sandbox if they are few files', async () => {
    const { cache, trees } = opened()
    const below = await base(cache)
    writeFileSync(lab.path('work/notes'), 'beside the repository')
    change('true')
    const sealed = await lab.sealed('work')
    const lower = (await trees.provide(orderOf(sealed), owner, never)) ?? expect.unreachable()
    expect(lower.places).toEqual({ workspace: [join(dir(), held[0] ?? '', 'workspace'), below] })
    expect((await sealAgain(lower, sealed)).manifest.toString()).toBe(sealed.manifest.toString())
    expect(await trees.provide(orderOf(sealed, { base: null }), owner, never)).toBeNull()
  })

  it('are refused with hard links, which would part at the first write', async () => {
    const { cache, trees } = opened()
    await base(cache)
    change('ln src/b src/c')
    const sealed = await lab.sealed('work')
    await expect(trees.provide(orderOf(sealed), owner, never)).rejects.toThrow(RestoreRefused)
    expect(await readdir(dir())).toEqual([BASE])
  })

  it('leave nothing behind if a blob is damaged or there is no room', async () => {
    const { cache, trees } = opened()
    await base(cache)
    change('head -c 100000 /dev/urandom > src/b')
    const sealed = await lab.sealed('work')
    const full = opened({ bytes: 1000 }).trees
    await expect(full.provide(orderOf(sealed), owner, never)).rejects.toThrow(HostFull)
    for (const name of execFileSync('find', [lab.path('blobs'), '-type', 'f'], { encoding: 'utf8' }).split('\n')) {
      if (name === '') continue
      const content = readFileSync(name)
      chmodSync(name, 0o600)
      content[content.length - 1] = (content.at(-1) ?? 0) ^ 1
      rmSync(name)
      writeFileSync(name, content)
    }
    const refused = await trees.provide(orderOf(sealed), owner, never).catch(error => error)
    expect(refused).toMatchObject({ name: 'RestoreRefused', code: 'corrupt' })
    expect(await readdir(dir())).toEqual([BASE])
  })
})
