import { mkdirSync } from 'node:fs'
import { type Entry, owners, TreeLab } from '@berth/testing/workspaces/trees.ts'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'

beforeAll(() => TreeLab.build())

/** File names of any valid bytes, one character per byte. */
const names = fc.oneof(
  fc.constantFrom('a', 'b', 'README', '-rf', ' ', '\n', '\xff\xfe', '...', 'é', '\'"', '*', '\\', 'x'.repeat(255)),
  fc
    .uint8Array({ minLength: 1, maxLength: 12 })
    .map(bytes => Buffer.from(bytes).toString('latin1'))
    .filter(name => name !== '.' && name !== '..' && !/[/\0]/.test(name)),
)
const times = fc.integer({ min: -1_000_000, max: 4_000_000_000 })
const modes = fc.integer({ min: 0, max: 0o777 })
const entries: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({
    content: fc.uint8Array({ maxLength: 3000 }).map(bytes => Buffer.from(bytes)),
    mode: modes,
    mtime: times,
  }),
  fc.record({ link: fc.constantFrom('a', '../../../../etc/passwd', '/', '/tree', '\xff', 'nowhere/at all') }),
  fc.record({ directory: fc.constant(true as const), mtime: times }),
)

/** Entries by path; drops a path whose parent is not a directory of the same tree. */
const trees = fc
  .array(fc.tuple(fc.array(names, { minLength: 1, maxLength: 4 }), entries), { maxLength: 25 })
  .map(list => {
    const tree = new Map<string, Entry>()
    for (const [path, entry] of list) {
      const parents = path.map((_, n) => path.slice(0, n).join('/')).slice(1)
      if (tree.has(path.join('/'))) continue
      if (parents.some(parent => tree.has(parent) && !('directory' in Object(tree.get(parent))))) continue
      for (const parent of parents) if (!tree.has(parent)) tree.set(parent, { directory: true })
      tree.set(path.join('/'), entry)
    }
    return Object.fromEntries(tree)
  })

describe.each(owners)('a tree of uid %s', uid => {
  test('is restored unchanged, and is known to the next seal', async () => {
    await fc.assert(
      fc.asyncProperty(trees, async tree => {
        using lab = await TreeLab.open(uid)
        lab.make('tree', tree)
        const before = lab.list('tree')
        const sealed = await lab.sealed('tree')
        expect(sealed.files + sealed.directories + sealed.links).toBe(Object.keys(before).length)
        await lab.restore(sealed.manifest, 'copy')
        expect(lab.list('copy')).toEqual(before)
        const again = await lab.sealed('copy', { previous: sealed.manifest })
        expect(again).toMatchObject({ readBytes: 0, manifestSha256: sealed.manifestSha256 })
      }),
      { numRuns: 12, endOnFailure: true },
    )
  }, 120_000)

  test('keeps hard links, closed files and closed directories, and loses set-id bits', async () => {
    using lab = await TreeLab.open(uid)
    lab.make('tree', {
      first: { content: 'shared', mode: 0o4755 },
      'z/second': { hardLink: 'first' },
      closed: { content: 'secret', mode: 0o000 },
      'dir/inner': 'inside',
      'empty/': { directory: true, mode: 0o700 },
      'sticky/': { directory: true, mode: 0o1777 },
    })
    lab.make('other', {})
    const { chmodSync } = await import('node:fs')
    chmodSync(lab.path('tree/dir'), 0o000)
    const sealed = await lab.sealed('tree')
    expect(sealed).toMatchObject({ files: 3, directories: 4, links: 1 })
    await lab.restore(sealed.manifest, 'copy')
    if (process.getuid?.() === 0) expect(lab.list('copy')).toEqual(lab.list('tree'))
    const { statSync } = await import('node:fs')
    expect(statSync(lab.path('copy/first')).mode & 0o7777).toBe(0o755)
    expect(statSync(lab.path('copy/first')).ino).toBe(statSync(lab.path('copy/z/second')).ino)
    expect(statSync(lab.path('copy/sticky')).mode & 0o7777).toBe(0o777)
    const again = await lab.sealed('copy', { previous: sealed.manifest })
    expect(again.files).toBe(3)
  })
})

test('an empty tree can be sealed and restored', async () => {
  using lab = await TreeLab.open()
  lab.make('tree', {})
  const sealed = await lab.sealed('tree')
  await lab.restore(sealed.manifest, 'copy')
  expect(lab.list('copy')).toEqual({})
})

test('skipped top-level names stay out of the checkpoint, and stay in place in the target', async () => {
  using lab = await TreeLab.open()
  lab.make('tree', { '.berth/inputs': 'theirs', 'src/.berth/mine': 'mine', file: 'x' })
  const sealed = await lab.sealed('tree', { skip: ['.berth'] })
  expect(sealed.omitted.excluded).toBe(1)
  mkdirSync(lab.path('copy/.berth/inputs'), { recursive: true })
  await lab.restore(sealed.manifest, 'copy', { skip: ['.berth'] })
  expect(Object.keys(lab.list('copy'))).toEqual([
    '.berth',
    '.berth/inputs',
    'file',
    'src',
    'src/.berth',
    'src/.berth/mine',
  ])
})
