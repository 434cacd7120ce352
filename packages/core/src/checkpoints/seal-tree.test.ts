import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Blobs, StorageFull } from '@berth/platform/storage/blobs/blobs.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { until } from '@berth/testing/until.ts'
import { type Entry, limited, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { blobsOf, verifyCheckpoint } from './check.ts'
import { SealFailed } from './errors.ts'

beforeAll(() => TreeLab.build())

/** Longer than the time for which a changed file's times are distrusted. */
// bound: the clock of the file system, which nobody can set
const settle = () => sleep(80)

function some(count: number, size = 2000): Record<string, Entry> {
  return Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`d${n % 7}/file-${n}`, randomBytes(size).toString('base64')]),
  )
}

describe('the cost of a seal', () => {
  test('follows the changes', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', some(300))
    await settle()
    const first = await lab.sealed('tree')
    expect(first.readBytes).toBe(first.sourceBytes)
    appendFileSync(lab.path('tree/d1/file-1'), 'more')
    const second = await lab.sealed('tree', { previous: first.manifest })
    expect(second.readBytes).toBe(statSync(lab.path('tree/d1/file-1')).size)
    expect(second.newBytes).toBeLessThan(first.newBytes / 4)
    await settle()
    const third = await lab.sealed('tree', { previous: second.manifest })
    expect(third.manifestSha256).toBe(second.manifestSha256)
    await lab.restore(third.manifest, 'copy')
    expect(lab.list('copy')).toEqual(lab.list('tree'))
  })

  test('is one piece for a change in a long file, and little for moved directories and copies', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', { 'a/long': randomBytes(20 * 1024 * 1024), 'a/other': randomBytes(6 * 1024 * 1024) })
    await settle()
    const first = await lab.sealed('tree')
    const fd = openSync(lab.path('tree/a/long'), 'r+')
    writeSync(fd, 'changed', 9_000_000)
    closeSync(fd)
    const second = await lab.sealed('tree', { previous: first.manifest })
    expect(second.newBytes).toBeLessThan(1.2 * 1024 * 1024)
    renameSync(lab.path('tree/a'), lab.path('tree/b'))
    execFileSync('cp', [lab.path('tree/b/long'), lab.path('tree/copy')])
    lab.own('tree')
    const third = await lab.sealed('tree', { previous: second.manifest })
    expect(third.newBytes).toBeLessThan(6 * 1024 * 1024)
    await lab.restore(third.manifest, 'restored')
    expect(lab.list('restored')).toEqual(lab.list('tree'))
  })

  test('is nothing for a hole, and the restored file has its full length', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', { sparse: 'begin' })
    truncateSync(lab.path('tree/sparse'), 40 * 1024 ** 2 + 5)
    appendFileSync(lab.path('tree/sparse'), 'end')
    await settle()
    const sealed = await lab.sealed('tree')
    expect(sealed.newBytes).toBeLessThan(64 * 1024)
    await lab.restore(sealed.manifest, 'copy')
    execFileSync('cmp', [lab.path('tree/sparse'), lab.path('copy/sparse')])
  })

  test('includes content that a collector has set aside', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', some(20))
    await settle()
    const first = await lab.sealed('tree')
    const blobs = await FileBlobs.open(lab.path('blobs'))
    for (const { sha256 } of await blobsOf(first.manifest, blobs)) await blobs.setAside(sha256)
    const second = await lab.sealed('tree', { previous: first.manifest })
    expect(second.readBytes).toBe(second.sourceBytes)
    for await (const { sha256 } of blobs.listAside()) await blobs.discard(sha256)
    await lab.restore(second.manifest, 'copy')
    expect(lab.list('copy')).toEqual(lab.list('tree'))
  })

  test('is that of the first seal without its baseline', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', some(20))
    const first = await lab.sealed('tree')
    for (const name of readdirSync(lab.path('tree.baselines'))) {
      const path = join(lab.path('tree.baselines'), name)
      writeFileSync(path, randomBytes(statSync(path).size))
    }
    const torn = await lab.sealed('tree', { previous: first.manifest })
    expect(torn.readBytes).toBe(torn.sourceBytes)
    rmSync(lab.path('tree.baselines'), { recursive: true })
    const lost = await lab.sealed('tree', { previous: torn.manifest })
    expect(lost.readBytes).toBe(lost.sourceBytes)
    expect(await verifyCheckpoint(lost.manifest, lab.blobs, { digests: true })).toBeUndefined()
  })

  test('stays within twice the content, in few packs, over many seals', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', some(120))
    let last = await lab.sealed('tree')
    for (let round = 0; round < 24; round++) {
      for (let n = 0; n < 5; n++) {
        const file = (round * 5 + n) % 120
        writeFileSync(lab.path(`tree/d${file % 7}/file-${file}`), randomBytes(2000).toString('base64'))
      }
      last = await lab.sealed('tree', { previous: last.manifest })
      expect(last.storedBytes).toBeLessThan(2.5 * last.sourceBytes)
    }
    expect((await blobsOf(last.manifest, lab.blobs)).length).toBeLessThan(14)
    await lab.restore(last.manifest, 'copy')
    expect(lab.list('copy')).toEqual(lab.list('tree'))
  })
})

describe('a change is found,', () => {
  test('if its size and time were reset, before and after a restore', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', { file: 'one', link: { link: 'one' } })
    const disguise = (tree: string, content: string) => {
      const { atime, mtime } = statSync(lab.path(`${tree}/file`))
      writeFileSync(lab.path(`${tree}/file`), content)
      utimesSync(lab.path(`${tree}/file`), atime, mtime)
    }
    utimesSync(lab.path('tree/file'), 1000, 1000)
    await settle()
    const first = await lab.sealed('tree')
    disguise('tree', 'two')
    const second = await lab.sealed('tree', { previous: first.manifest })
    await lab.restore(second.manifest, 'copy')
    expect(lab.list('copy')).toEqual(lab.list('tree'))
    disguise('copy', 'six')
    const third = await lab.sealed('copy', { previous: second.manifest })
    await lab.restore(third.manifest, 'last')
    expect(lab.list('last')).toEqual(lab.list('copy'))
    expect(lab.list('last')).not.toEqual(lab.list('tree'))
  })

  test("if its directory's time was reset, before and after a restore", async () => {
    using lab = await TreeLab.open()
    lab.make('tree', {
      'a/one': '1',
      'a/two': '2',
      'b/in/one': '1',
      'b/in/two': '2',
      'b/last': 'last',
      'c/link': { link: 'one' },
      'd/file': 'a directory next',
      'e/old': 'of one directory',
      'f/new': 'of another',
      'f/old': 'of another',
    })
    const disguise = (directory: string, work: (path: (name: string) => string) => void) => {
      const { atime, mtime } = statSync(lab.path(directory))
      work(name => lab.path(`${directory}/${name}`))
      utimesSync(lab.path(directory), atime, mtime)
    }
    const rounds = [
      (tree: string) => {
        disguise(`${tree}/a`, path => renameSync(path('two'), path('three')))
        disguise(`${tree}/b/in`, path => rmSync(path('one')))
        disguise(`${tree}/c`, path => {
          rmSync(path('link'))
          symlinkSync('two', path('link'))
        })
      },
      (tree: string) => {
        disguise(`${tree}/b/in`, path => writeFileSync(path('a new one'), 'n'))
        disguise(`${tree}/d`, path => {
          rmSync(path('file'))
          mkdirSync(path('file'))
        })
        disguise(tree, path => {
          rmSync(path('e'), { recursive: true })
          renameSync(path('f'), path('e'))
        })
      },
    ]
    await settle()
    let last = await lab.sealed('tree')
    const seal = async (tree: string) => {
      last = await lab.sealed(tree, { previous: last.manifest })
      rmSync(lab.path('copy'), { recursive: true, force: true })
      await lab.restore(last.manifest, 'copy')
      expect(lab.list('copy')).toEqual(lab.list(tree))
    }
    for (const round of rounds) {
      round('tree')
      await seal('tree')
    }
    renameSync(lab.path('copy'), lab.path('restored'))
    renameSync(lab.path('copy.baselines'), lab.path('restored.baselines'))
    disguise('restored/b', path => renameSync(path('in'), path('out')))
    disguise('restored/c', path => renameSync(path('link'), path('moved')))
    await seal('restored')
  })

  test('if it came within one tick of the clock after the previous seal', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', { file: 'content 0' })
    let last = await lab.sealed('tree')
    for (let n = 1; n < 8; n++) {
      writeFileSync(lab.path('tree/file'), `content ${n}`)
      last = await lab.sealed('tree', { previous: last.manifest })
      writeFileSync(lab.path('tree/file'), `CONTENT ${n}`)
      last = await lab.sealed('tree', { previous: last.manifest })
      rmSync(lab.path('copy'), { recursive: true, force: true })
      await lab.restore(last.manifest, 'copy')
      expect(lab.list('copy')).toEqual(lab.list('tree'))
    }
  })
})

describe('a seal', () => {
  test('omits sockets, fifos and paths that are too long, and counts each', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', { fifo: { fifo: true }, file: 'x' })
    const server = createServer().listen(lab.path('tree/socket'))
    execFileSync('bash', ['-c', 'for i in $(seq 30); do n=$(printf %0200d 7); mkdir $n; cd $n; done'], {
      cwd: lab.path('tree'),
    })
    lab.own('tree')
    try {
      const sealed = await lab.sealed('tree')
      expect(sealed).toMatchObject({ files: 1, omitted: { fifos: 1, sockets: 1, tooLong: 1, devices: 0 } })
      await lab.restore(sealed.manifest, 'copy')
    } finally {
      server.close()
    }
  })

  test('checks omitted paths again, even in an unchanged directory', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', {
      'pkg/__pycache__/a.pyc': 'x',
      'pkg/fifo': { fifo: true },
      'pkg/file': 'x',
      'pkg/other': 'x',
      'src/__pycache__/b.pyc': 'x',
      'src/file': 'x',
    })
    await settle()
    const one = await lab.sealed('tree', { only: ['pkg/file'] })
    const most = await lab.sealed('tree', { previous: one.manifest })
    const same = await lab.sealed('tree', { previous: most.manifest })
    const all = await lab.sealed('tree', { previous: same.manifest, exclude: [] })
    const mostAgain = await lab.sealed('tree', { previous: all.manifest })
    expect(one.files).toBe(1)
    expect(all).toMatchObject({ files: 5, omitted: { fifos: 1, excluded: 0 } })
    for (const seal of [most, same, mostAgain])
      expect(seal).toMatchObject({ files: 3, omitted: { fifos: 1, excluded: 2 } })
  })

  test('omits caches, except files that git tracks', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', {
      '__pycache__/a.pyc': 'x',
      'node_modules/.cache/x': 'x',
      'node_modules/left-pad/index.js': 'x',
      '.cache/kept': 'x',
      'repo/pkg/__pycache__/committed.pyc': 'x',
      'repo/pkg/deep/__pycache__/built.pyc': 'x',
      'repo/.gitignore': 'built.pyc',
    })
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'safe.directory=*', '-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
        cwd: lab.path('tree/repo'),
        stdio: 'ignore',
      })
    git('init')
    git('add', '-A')
    git('commit', '-m', 'all')
    lab.own('tree')
    const sealed = await lab.sealed('tree')
    expect(sealed.omitted.excluded).toBe(3)
    await lab.restore(sealed.manifest, 'copy')
    const paths = Object.keys(lab.list('copy'))
    expect(paths).toContain('repo/pkg/__pycache__/committed.pyc')
    expect(paths).toContain('node_modules/left-pad/index.js')
    expect(paths).toContain('.cache/kept')
    expect(paths.filter(path => /a\.pyc|built\.pyc$|\.cache\/x/.test(path))).toEqual([])
    const status = execFileSync('git', ['-c', 'safe.directory=*', 'status', '--porcelain'], {
      cwd: lab.path('copy/repo'),
      encoding: 'utf8',
    })
    expect(status).toBe('')
  })
})

test('rules name what they leave out in any script, and only some of them name files', async () => {
  using lab = await TreeLab.open()
  const bytes = (path: string) => Buffer.from(path).toString('latin1')
  const paths = ['other/größe', 'Übung/größe', 'Übung/kept', 'Übung/日本/x']
  lab.make('tree', Object.fromEntries(paths.map(path => [bytes(path), 'x'])))
  const rule = (path: string) => ({ names: path.split('/'), rooted: true })
  const exclude = [rule('Übung/kept'), rule('Übung/日本'), { ...rule('Übung/größe'), anything: true }]
  const sealed = await lab.sealed('tree', { exclude })
  expect(sealed).toMatchObject({ files: 2, omitted: { excluded: 2 } })
  await lab.restore(sealed.manifest, 'copy')
  const there = Object.keys(lab.list('copy'))
  expect(paths.filter(path => there.includes(bytes(path)))).toEqual(['other/größe', 'Übung/kept'])
})

describe('the name that restores use', () => {
  test.each<[string, Record<string, Entry>]>([
    ['a directory', { '.berth-restore/x': 'x' }],
    ['a file', { '.berth-restore': 'x' }],
  ])('is omitted if an agent gives it to %s, and does not prevent the seal', async (_kind, theirs) => {
    using lab = await TreeLab.open()
    lab.make('tree', { ...theirs, kept: 'x' })
    const sealed = await lab.sealed('tree')
    expect(sealed).toMatchObject({ files: 1, omitted: { excluded: 1 } })
    await lab.restore(sealed.manifest, 'copy')
    expect(Object.keys(lab.list('copy'))).toEqual(['kept'])
  })
})

describe('over a cap', () => {
  test('a tree is not sealed, and the previous checkpoint stays whole', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', some(50))
    await settle()
    const first = await lab.sealed('tree')
    writeFileSync(lab.path('tree/large'), randomBytes(12 * 1024 * 1024))
    for (const [limits, cap] of [
      [{ storedBytes: 4 * 1024 * 1024 }, 'stored'],
      [{ sourceBytes: 1024 * 1024 }, 'source'],
      [{ files: 20 }, 'files'],
      [{ manifestBytes: 100 }, 'manifest'],
      [{ indexBytes: 1000 }, 'index'],
    ] as const) {
      expect(await lab.seal('tree', { previous: first.manifest, limits: limited(limits) })).toMatchObject({
        kind: 'over_cap',
        cap,
        limit: Object.values(limits)[0],
      })
    }
    expect(await verifyCheckpoint(first.manifest, lab.blobs, { digests: true })).toBeUndefined()
    rmSync(lab.path('tree/large'))
    const next = await lab.sealed('tree', { previous: first.manifest })
    expect(next.readBytes).toBeLessThan(next.sourceBytes / 2)
  })

  test('rebuildable content is omitted before any work is', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', {
      'package.json': '{}',
      'node_modules/dep/big': randomBytes(3 * 1024 * 1024),
      'notes/node_modules/mine': 'no package.json beside',
      'src/work': 'work',
    })
    const limits = limited({ storedBytes: 1024 * 1024 })
    const sealed = await lab.sealed('tree', { limits })
    expect(sealed.reduced).toBe(true)
    await lab.restore(sealed.manifest, 'copy', { limits })
    expect(Object.keys(lab.list('copy')).filter(path => path.endsWith('work') || path.endsWith('mine'))).toHaveLength(2)
  })

  test('dead content of earlier checkpoints does not count', async () => {
    using lab = await TreeLab.open()
    const limits = limited({ storedBytes: 4 * 1024 * 1024 })
    lab.make('tree', { a: randomBytes(1.6 * 1024 * 1024), b: randomBytes(1.7 * 1024 * 1024) })
    const first = await lab.sealed('tree', { limits })
    writeFileSync(lab.path('tree/a'), randomBytes(1.5 * 1024 * 1024))
    expect(await lab.sealed('tree', { limits, previous: first.manifest })).toMatchObject({ reduced: false })
  })
})

test('a file that grows without end is sealed at some length', async () => {
  using lab = await TreeLab.open()
  lab.make('tree', { steady: 'x' })
  const writer = spawn('sh', ['-c', 'while :; do head -c 20000 /dev/urandom; sleep 0.01; done >> tree/growing'], {
    cwd: lab.dir,
    detached: true,
  })
  try {
    await until('a file that grows', () => statSync(lab.path('tree/growing'), { throwIfNoEntry: false })?.size)
    let previous: Buffer | undefined
    for (let n = 0; n < 4; n++) {
      const sealed = await lab.sealed('tree', { previous })
      rmSync(lab.path('copy'), { recursive: true, force: true })
      await lab.restore(sealed.manifest, 'copy')
      const { size } = statSync(lab.path('copy/growing'))
      expect(size).toBeGreaterThan(0)
      execFileSync('cmp', ['-n', String(size), lab.path('copy/growing'), lab.path('tree/growing')])
      previous = sealed.manifest
    }
  } finally {
    if (writer.pid !== undefined) process.kill(-writer.pid, 'SIGKILL')
  }
})

test('a tree that keeps changing is sealed without the targets of its links', async () => {
  using lab = await TreeLab.open()
  writeFileSync(lab.path('secret'), 'of the service')
  lab.make('tree', { ...some(400, 200), passwd: { link: '/etc/passwd' } })
  const script = `while :; do rm -rf d1; ln -s ${lab.dir} d1; rm -f d1; mkdir d1; echo x > d1/file; rm -f d2/file-2;
    ln -s ../../secret d2/file-2; rm -f d2/file-2; mkfifo d2/file-2; done`
  const writer = spawn('sh', ['-c', script], { cwd: lab.path('tree'), detached: true, stdio: 'ignore' })
  const ended = once(writer, 'exit')
  try {
    for (let n = 0; n < 6; n++) {
      const sealed = await lab.sealed('tree')
      rmSync(lab.path('copy'), { recursive: true, force: true })
      await lab.restore(sealed.manifest, 'copy')
      expect(spawnSync('grep', ['-rq', 'of the service', lab.path('copy')]).status).toBe(1)
    }
  } finally {
    if (writer.pid !== undefined) process.kill(-writer.pid, 'SIGKILL')
    await ended
  }
})

describe('a seal that fails', () => {
  const fill = (lab: TreeLab) => {
    lab.make('tree', { ...some(100), large: randomBytes(20 * 1024 * 1024) })
  }

  test('at any put leaves the previous checkpoint whole, and the next seal succeeds', async () => {
    using lab = await TreeLab.open()
    fill(lab)
    const first = await lab.sealed('tree')
    writeFileSync(lab.path('tree/large'), randomBytes(20 * 1024 * 1024))
    let puts = 0
    const failing: Blobs = Object.assign(Object.create(lab.blobs) as Blobs, {
      put: (content: Uint8Array) => (puts-- === 0 ? Promise.reject(new Error('store down')) : lab.blobs.put(content)),
      get: (digest: string) => lab.blobs.get(digest),
      has: (digest: string) => lab.blobs.has(digest),
      stat: (digest: string) => lab.blobs.stat(digest),
    })
    for (let fail = 0; ; fail++) {
      puts = fail
      try {
        await lab.seal('tree', { previous: first.manifest, blobs: failing })
        expect(fail).toBeGreaterThan(3)
        break
      } catch (error) {
        expect(error).toMatchObject({ message: 'store down' })
        expect(await verifyCheckpoint(first.manifest, lab.blobs, { digests: true })).toBeUndefined()
      }
    }
  })

  test('by an abort at any time ends the program and leaves nothing', async () => {
    using lab = await TreeLab.open()
    fill(lab)
    const first = await lab.sealed('tree')
    const baselines = readdirSync(lab.path('tree.baselines'))
    for (const ms of [0, 5, 20, 40, 60, 80, 100, 130]) {
      const signal = AbortSignal.timeout(ms)
      const result = await lab.seal('tree', { signal, limits: limited({}) }).catch((error: unknown) => error)
      if (result instanceof Error) expect(result).toMatchObject({ name: 'TimeoutError' })
      else break
      expect(readdirSync(lab.path('tree.baselines'))).toEqual(baselines)
      expect(await verifyCheckpoint(first.manifest, lab.blobs, { digests: true })).toBeUndefined()
    }
  })

  test('because its program was killed rejects with SealFailed', async () => {
    using lab = await TreeLab.open()
    fill(lab)
    // A program that sends half a frame and dies.
    writeFileSync(
      lab.path('dies.cjs'),
      "require('fs').writeSync(1, Buffer.from([2, 9])); process.kill(process.pid, 'SIGKILL')",
    )
    const tree = lab.tree('tree', { programPath: lab.path('dies.cjs') })
    await expect(lab.seal('tree', { tree })).rejects.toBeInstanceOf(SealFailed)
    expect(readdirSync(lab.path('tree.baselines'))).toEqual([])
  })

  test('because the store altered a blob rejects before the checkpoint counts', async () => {
    using lab = await TreeLab.open()
    fill(lab)
    const losing: Blobs = Object.assign(Object.create(lab.blobs) as Blobs, {
      put: async (content: Uint8Array) => {
        const blob = await lab.blobs.put(content)
        writeFileSync(lab.path(`blobs/${blob.sha256.slice(0, 2)}/${blob.sha256.slice(2)}`), 'altered')
        return blob
      },
      get: (digest: string) => lab.blobs.get(digest),
    })
    await expect(lab.seal('tree', { blobs: losing })).rejects.toMatchObject({ name: 'BlobCorrupt' })
  })

  test.runIf(process.getuid?.() === 0)('for lack of space leaves the previous checkpoint whole', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', some(50))
    mkdirSync(lab.path('disk'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'berth-test', lab.path('disk')])
    try {
      const blobs = await FileBlobs.open(lab.path('disk/blobs'))
      const first = await lab.sealed('tree', { blobs })
      writeFileSync(lab.path('tree/large'), randomBytes(10 * 1024 * 1024))
      lab.own('tree')
      await expect(lab.seal('tree', { blobs, previous: first.manifest })).rejects.toBeInstanceOf(StorageFull)
      expect(await verifyCheckpoint(first.manifest, blobs, { digests: true })).toBeUndefined()
      await lab.restore(first.manifest, 'copy', { blobs })
    } finally {
      execFileSync('umount', [lab.path('disk')])
    }
  })
})

test('a seal does not build on a previous checkpoint that the store has lost in part', async () => {
  using lab = await TreeLab.open()
  lab.make('tree', { ...some(50), large: randomBytes(20 * 1024 * 1024) })
  await settle()
  let last = await lab.sealed('tree')
  const count = (await blobsOf(last.manifest, lab.blobs)).length
  for (let n = 0; n < count; n++) {
    const victim = (await blobsOf(last.manifest, lab.blobs))[n]
    if (victim === undefined) break
    await lab.blobs.delete(victim.sha256)
    last = await lab.sealed('tree', { previous: last.manifest })
    expect(await verifyCheckpoint(last.manifest, lab.blobs, { digests: true })).toBeUndefined()
  }
})
