import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import type { Blobs } from '@berth/platform/storage/blobs/blobs.ts'
import { until } from '@berth/testing/until.ts'
import { limited, owners, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'
import { blobsOf, verifyCheckpoint } from './check.ts'
import { RestoreRefused } from './errors.ts'
import { encodeManifest, encodePackTable } from './manifest.ts'
import type { RestoreOptions } from './restore-tree.ts'

beforeAll(() => TreeLab.build())

async function example() {
  const lab = await TreeLab.open()
  lab.make('tree', {
    'a/one': randomBytes(10_000),
    'a/two': randomBytes(12 * 1024 * 1024),
    'b/three': 'three',
    link: { link: '/etc' },
  })
  return { lab, sealed: await lab.sealed('tree') }
}

/** Returns the open files of this process below a directory. */
function openBelow(directory: string): readonly string[] {
  const paths = readdirSync('/proc/self/fd').map(fd => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return 'closed since it was listed'
    }
  })
  return paths.filter(path => path.startsWith(directory))
}

const isEmpty = (lab: TreeLab, name: string) => expect(readdirSync(lab.path(name))).toEqual([])

describe('a damaged checkpoint is refused and leaves nothing,', () => {
  test.each(['missing', 'truncated', 'corrupt'] as const)('if any of its blobs is %s', async damage => {
    const { lab, sealed } = await example()
    using _ = lab
    for (const { sha256 } of await blobsOf(sealed.manifest, lab.blobs)) {
      const path = lab.path(`blobs/${sha256.slice(0, 2)}/${sha256.slice(2)}`)
      const content = readFileSync(path)
      if (damage === 'missing') rmSync(path)
      else if (damage === 'truncated') writeFileSync(path, content.subarray(0, -1))
      else
        writeFileSync(
          path,
          content.map((byte, at) => (at === content.length >> 1 ? byte ^ 1 : byte)),
        )
      await expect(lab.restore(sealed.manifest, 'copy')).rejects.toMatchObject({
        name: 'RestoreRefused',
        code: damage === 'missing' ? 'missing' : 'corrupt',
      })
      isEmpty(lab, 'copy')
      expect(await verifyCheckpoint(sealed.manifest, lab.blobs, { digests: true })).toBe(
        damage === 'missing' ? 'missing' : 'corrupt',
      )
      writeFileSync(path, content)
    }
    await lab.restore(sealed.manifest, 'copy')
    expect(lab.list('copy')).toEqual(lab.list('tree'))
  })

  test('if its manifest is malformed', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    const text = sealed.manifest.toString()
    for (const manifest of [
      '',
      '{}',
      'null',
      '[]',
      text.slice(1),
      text.replace('"index":[', '"index":[7,'),
      text.replace('tree.1', 'tree.9'),
    ]) {
      await expect(lab.restore(Buffer.from(manifest), 'copy')).rejects.toMatchObject({ code: 'malformed' })
      isEmpty(lab, 'copy')
    }
  })

  test('if it is over the caps', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    for (const limits of [
      { storedBytes: 1000 },
      { sourceBytes: 1000 },
      { files: 2 },
      { indexBytes: 10 },
      { manifestBytes: 10 },
    ]) {
      await expect(lab.restore(sealed.manifest, 'copy', { limits: limited(limits) })).rejects.toMatchObject({
        code: 'over_limit',
      })
      isEmpty(lab, 'copy')
    }
  })
})

/** An index entry, written by hand. */
function entry(kind: number, path: string, tail: Buffer = Buffer.alloc(0), mode = 0o755): Buffer {
  const head = Buffer.alloc(17)
  head.writeUInt8(kind, 0)
  head.writeUInt16LE(mode, 1)
  head.writeDoubleLE(1_000_000, 3)
  head.writeUInt16LE(path.length, 11)
  head.writeUInt32LE(tail.length, 13)
  return Buffer.concat([head, Buffer.from(path, 'latin1'), tail])
}

function content(
  size: number,
  ...chunks: readonly (readonly [pack: number, offset: number, length: number])[]
): Buffer {
  const tail = Buffer.alloc(8 + chunks.length * 44)
  tail.writeDoubleLE(size, 0)
  for (const [n, chunk] of chunks.entries()) {
    for (const [m, value] of chunk.entries()) tail.writeUInt32LE(value, 8 + n * 44 + m * 4)
  }
  return tail
}

/** Stores a checkpoint with the given index and pack. */
async function forge(
  lab: TreeLab,
  index: Buffer,
  options: { pack?: Buffer; packBytes?: number; indexBytes?: number; totals?: object } = {},
): Promise<Buffer> {
  const pack = await lab.blobs.put(options.pack ?? zstdCompressSync(Buffer.from('0123456789')))
  const segment = await lab.blobs.put(zstdCompressSync(index))
  const sourceBytes = options.packBytes ?? 10
  const packs = await lab.blobs.put(
    encodePackTable({ nextPack: 1, packs: [{ id: 0, ...pack, sourceBytes, liveBytes: 1 }] }),
  )
  const totals = { files: 1, directories: 0, links: 0, sourceBytes: 10, storedBytes: 1000, ...options.totals }
  return encodeManifest({ ...totals, index: [{ ...segment, sourceBytes: options.indexBytes ?? index.length }], packs })
}

describe('a hostile checkpoint is refused and leaves nothing', () => {
  const good = content(10, [0, 0, 10])
  const cases: Record<string, Buffer> = {
    'a parent’s name': entry(2, '..', good),
    'a path through a parent': Buffer.concat([entry(1, 'a'), entry(2, 'a/../../x', good)]),
    'an absolute path': entry(2, '/etc/x', good),
    'the directory itself': entry(1, '.'),
    'no name': entry(2, '', good),
    'an empty component': Buffer.concat([entry(1, 'a'), entry(2, 'a//x', good)]),
    'a NUL': entry(2, 'a\0b', good),
    'a directory that is not there': entry(2, 'a/x', good),
    'a symbolic link as a directory': Buffer.concat([entry(3, 'a', Buffer.from('/etc')), entry(2, 'a/x', good)]),
    'a file as a directory': Buffer.concat([entry(2, 'a', good), entry(2, 'a/x', good)]),
    'a path twice': Buffer.concat([entry(2, 'a', good), entry(2, 'a', good)]),
    'a link in the place of a file': Buffer.concat([entry(3, 'a', Buffer.from('/etc/x')), entry(2, 'a', good)]),
    'a name too long': entry(2, 'x'.repeat(256), good),
    'a device': entry(5, 'a'),
    'a set-user-id bit': entry(2, 'a', good, 0o4755),
    'a hard link out of the tree': entry(4, 'a', Buffer.from('../../etc/passwd')),
    'a hard link to a symbolic link': Buffer.concat([
      entry(3, 'a', Buffer.from('/etc/passwd')),
      entry(4, 'b', Buffer.from('a')),
    ]),
    'a symbolic link to nothing': entry(3, 'a'),
    'content out of its pack': entry(2, 'a', content(10, [0, 5, 10])),
    'content of no pack': entry(2, 'a', content(10, [7, 0, 10])),
    'more content than said': entry(2, 'a', content(10, [0, 0, 10], [0, 0, 10])),
    'less content than said': entry(2, 'a', content(1e12, [0, 0, 10])),
    'a size that is none': entry(2, 'a', content(Number.NaN)),
    'an entry cut short': entry(2, 'a', good).subarray(0, -1),
    'the mark of an unfinished restore': entry(1, '.berth-restore'),
    'a name that is kept for others': entry(1, '.berth'),
  }

  test.each(Object.entries(cases))('with %s', async (_name, index) => {
    using lab = await TreeLab.open()
    await expect(lab.restore(await forge(lab, index), 'copy', { skip: ['.berth'] })).rejects.toMatchObject({
      code: 'malformed',
    })
    isEmpty(lab, 'copy')
  })

  test.each(owners)('with a decompression bomb, as uid %s', async uid => {
    using lab = await TreeLab.open(uid)
    const bomb = zstdCompressSync(Buffer.alloc(256 * 1024 * 1024))
    const file = entry(2, 'a', good)
    for (const [forged, code] of [
      [await forge(lab, file, { pack: bomb }), 'malformed'],
      [await forge(lab, file, { pack: bomb, packBytes: 8 * 1024 * 1024 }), 'malformed'],
      [await forge(lab, file, { pack: bomb, packBytes: 256 * 1024 * 1024 }), 'malformed'],
      [await forge(lab, Buffer.alloc(64 * 1024 * 1024), { indexBytes: 1000 }), 'malformed'],
      [await forge(lab, file, { pack: Buffer.from('no zstd') }), 'malformed'],
    ] as const) {
      await expect(lab.restore(forged, 'copy')).rejects.toMatchObject({ code })
      isEmpty(lab, 'copy')
    }
    const many = Buffer.concat(Array.from({ length: 200 }, (_, n) => entry(2, `f${n}`, good)))
    await expect(
      lab.restore(await forge(lab, many), 'copy', { limits: limited({ sourceBytes: 1000 }) }),
    ).rejects.toMatchObject({ code: 'over_limit' })
    await expect(
      lab.restore(await forge(lab, many), 'copy', { limits: limited({ files: 100 }) }),
    ).rejects.toMatchObject({ code: 'over_limit' })
    isEmpty(lab, 'copy')
    expect(await lab.restore(await forge(lab, file), 'copy')).toMatchObject({ files: 1 })
  })
})

describe('a target', () => {
  test('is left alone if it holds anything', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    lab.make('copy', { mine: 'work' })
    await expect(lab.restore(sealed.manifest, 'copy')).rejects.toMatchObject({ code: 'target_not_empty' })
    expect(Object.keys(lab.list('copy'))).toEqual(['mine'])
  })

  test("is cleared of a dead process's leftovers first, and is not sealed before", async () => {
    const { lab, sealed } = await example()
    using _ = lab
    mkdirSync(lab.path('copy'))
    lab.own('copy')
    const url = new URL('./restore-tree.ts', import.meta.url).href
    const treeUrl = new URL('../../../sandboxes/src/confined/directory-tree.ts', import.meta.url).href
    const blobsUrl = new URL('../../../platform/src/storage/blobs/file-blobs.ts', import.meta.url).href
    const script = `
      const { restoreTree } = await import(${JSON.stringify(url)})
      const { FileBlobs } = await import(${JSON.stringify(blobsUrl)})
      const blobs = await FileBlobs.open(${JSON.stringify(lab.path('blobs'))})
      let gets = 0
      const slow = Object.assign(Object.create(blobs), {
        stat: d => blobs.stat(d),
        async get(d) { if (++gets > 4) { process.stdout.write('half'); await new Promise(() => setInterval(() => {}, 1000)) } return blobs.get(d) },
      })
      const { directoryTree } = await import(${JSON.stringify(treeUrl)})
      const tree = directoryTree(...${JSON.stringify([lab.tools, lab.place('copy'), lab.path('copy.baselines')])})
      await restoreTree({ tree, manifest: Buffer.from(${JSON.stringify(sealed.manifest.toString())}),
        blobs: slow, limits: ${JSON.stringify(limited({}))} })`
    await using child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await new Promise(resolve => child.stdout.once('data', resolve))
    // bound: a pause between two looks
    for (let tries = 0; !existsSync(lab.path('copy/.berth-restore')) && tries < 100; tries++) await sleep(20)
    child.kill('SIGKILL')
    await new Promise(resolve => child.once('exit', resolve))
    // bound: a process that outlived the kill would write in this time
    await sleep(100)
    expect(readdirSync(lab.path('copy'))).toEqual(['.berth-restore'])
    await expect(lab.seal('copy')).rejects.toMatchObject({
      name: 'SealFailed',
      message: expect.stringContaining('not finished'),
    })
    await lab.restore(sealed.manifest, 'copy')
    expect(lab.list('copy')).toEqual(lab.list('tree'))
  })

  test('is empty again after an abort at any time', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    for (const ms of [0, 10, 30, 50, 70, 90, 120]) {
      const ended = await lab
        .restore(sealed.manifest, 'copy', { signal: AbortSignal.timeout(ms) })
        .catch((error: unknown) => error)
      if (!(ended instanceof Error)) return
      expect(ended).toMatchObject({ name: 'TimeoutError' })
      isEmpty(lab, 'copy')
    }
  })

  test('is empty again if the program is killed before its report of the beginning arrives', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    const programPath = lab.path('begins.cjs')
    const real = readFileSync(lab.tools.programPath, 'utf8')
    const begins = `fs.mkdirSync('/tree/.berth-restore'); setInterval(() => {}, 1000)`
    writeFileSync(
      programPath,
      `const fs = require('node:fs'); if (!fs.existsSync('/tree/.berth-restore')) { ${begins} } else { ${real} }`,
    )
    const death = new AbortController()
    mkdirSync(lab.path('copy'))
    const tree = lab.tree('copy', { programPath })
    const restoring = lab.restore(sealed.manifest, 'copy', { tree, signal: death.signal })
    const ended = restoring.catch((error: unknown) => error)
    await until('it has begun', () => existsSync(lab.path('copy/.berth-restore')))
    death.abort(new Error('called off'))
    expect(await ended).toBe(death.signal.reason)
    isEmpty(lab, 'copy')
  })

  test('may be restored while another one is', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    await Promise.all([lab.restore(sealed.manifest, 'one'), lab.restore(sealed.manifest, 'two')])
    expect(lab.list('one')).toEqual(lab.list('tree'))
    expect(lab.list('two')).toEqual(lab.list('tree'))
  })

  test.runIf(process.getuid?.() === 0)('is empty again if it is too small for the tree', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    mkdirSync(lab.path('small'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'berth-test', lab.path('small')])
    try {
      await expect(lab.restore(sealed.manifest, 'small')).rejects.toMatchObject({ code: 'target_full' })
      isEmpty(lab, 'small')
    } finally {
      execFileSync('umount', [lab.path('small')])
    }
  })
})

describe('a program that gives up while the worker fetches what it is to have next', () => {
  /** A tree, and its lab's blobs, of which the later ones come only once the tree's program is gone. */
  function late(lab: TreeLab, name: string, early: number): Pick<RestoreOptions, 'tree' | 'blobs'> {
    const [tree, real] = [lab.tree(name), lab.blobs]
    let gone: Promise<unknown> | undefined
    let fetched = 0
    const run: typeof tree.run = async (...args) => {
      const program = await tree.run(...args)
      // Not `once`, which throws the error of a broken pipe.
      gone ??= new Promise(resolve => program.input.once('close', resolve))
      return program
    }
    const get: Blobs['get'] = async sha256 => {
      if (gone !== undefined && fetched++ >= early) await gone
      return real.get(sha256)
    }
    const blobs = new Proxy(real, { get: (from, key: keyof Blobs) => (key === 'get' ? get : from[key].bind(from)) })
    return { tree: { ...tree, run }, blobs }
  }

  test('is heard, though nobody has read its output yet', async () => {
    const { lab, sealed } = await example()
    using _ = lab
    lab.make('taken', { mine: 'work' })
    const restored = lab.restore(sealed.manifest, 'taken', late(lab, 'taken', 0))
    await expect(restored).rejects.toMatchObject({ code: 'target_not_empty' })
    expect(readFileSync(lab.path('taken/mine'), 'utf8')).toBe('work')
  })

  test.runIf(process.getuid?.() === 0)('is sent nothing more', async () => {
    using lab = await TreeLab.open()
    lab.make('tree', { large: randomBytes(60 * 1024 * 1024) })
    const sealed = await lab.sealed('tree')
    const { index } = JSON.parse(sealed.manifest.toString()) as { index: readonly unknown[] }
    mkdirSync(lab.path('small'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'berth-test', lab.path('small')])
    try {
      const restored = lab.restore(sealed.manifest, 'small', late(lab, 'small', index.length + 5))
      await expect(restored).rejects.toMatchObject({ code: 'target_full' })
    } finally {
      execFileSync('umount', [lab.path('small')])
    }
  })
})

test('a refused or aborted restore leaves no file open', async () => {
  const { lab, sealed } = await example()
  using _ = lab
  lab.make('taken', { mine: 'work' })
  const refused = async (manifest: Uint8Array, name: string, options: Parameters<TreeLab['restore']>[2] = {}) => {
    const error = await lab.restore(manifest, name, options).catch((reason: unknown) => reason)
    await until('all is closed', () => openBelow(lab.dir).length === 0, 10_000).catch(() => undefined)
    expect(openBelow(lab.dir)).toEqual([])
    return error
  }
  expect(await refused(sealed.manifest, 'taken')).toMatchObject({ code: 'target_not_empty' })
  const file = entry(2, 'a', content(10, [0, 0, 10]))
  const bomb = zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))
  for (const forged of [await forge(lab, entry(2, '../a')), await forge(lab, file, { pack: bomb })]) {
    expect(await refused(forged, 'copy')).toMatchObject({ code: 'malformed' })
  }
  for (const { sha256 } of await blobsOf(sealed.manifest, lab.blobs)) {
    const path = lab.path(`blobs/${sha256.slice(0, 2)}/${sha256.slice(2)}`)
    const stored = readFileSync(path)
    writeFileSync(path, Buffer.alloc(stored.length))
    expect(await refused(sealed.manifest, 'copy')).toMatchObject({ code: 'corrupt' })
    writeFileSync(path, stored)
  }
  for (let gets = 1; gets <= 4; gets++) {
    const death = new AbortController()
    let left = gets
    const blobs: Blobs = Object.assign(Object.create(lab.blobs), {
      stat: (sha256: string) => lab.blobs.stat(sha256),
      get: (sha256: string) => {
        if (--left === 0) death.abort(new Error('called off'))
        return lab.blobs.get(sha256)
      },
    })
    expect(await refused(sealed.manifest, 'copy', { blobs, signal: death.signal })).toBe(death.signal.reason)
  }
})

test('a refusal has a code', () => {
  expect(new RestoreRefused('missing', 'gone')).toMatchObject({ code: 'missing', message: 'gone' })
})
