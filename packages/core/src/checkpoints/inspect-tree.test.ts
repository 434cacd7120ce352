import { owners, TreeLab } from '@berth/testing/workspaces/trees.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { inspectSealed } from './inspect-sealed.ts'
import { inspectTree, type PathRange, type Seen } from './inspect-tree.ts'

beforeAll(() => TreeLab.build())

const MIB = 1024 ** 2
const long = Buffer.alloc(2 * MIB + 10, 'x')
long.write('here', MIB - 2)

const tree = {
  'README.md': '# Hello\n',
  empty: '',
  'long.txt': long,
  'src/a.ts': 'export {}\n',
  'src/deep/b.ts': 'b',
  'src.ts': 'beside',
  'closed/secret.txt': { content: 'mine', mode: 0 },
  out: { link: '/etc/passwd' },
  up: { link: '../../../etc/passwd' },
  way: { link: '/usr' },
  inside: { link: 'src/a.ts' },
  round: { link: 'round' },
  pipe: { fifo: true },
  twin: { hardLink: 'README.md' },
  'caf\xc3\xa9': 'é',
  '\xff': 'no text',
} as const

const names = (seen: Seen) =>
  seen.found === 'directory' ? seen.entries.map(({ name }) => name).toSorted() : seen.found
const text = (seen: Seen) => (seen.found === 'file' ? seen.content.toString() : seen.found)

describe.each(owners)('a tree of uid %s', uid => {
  test.each(['live', 'sealed'] as const)(
    'is shown %s, and no link leads out of it',
    async kind => {
      using lab = await TreeLab.open(uid)
      lab.make('tree', tree)
      const { manifest } = await lab.sealed('tree')
      const view = (path: string, range: Partial<PathRange> = {}) => {
        const job = { path, offset: 0, bytes: MIB, ...range }
        return kind === 'live'
          ? inspectTree(lab.tree('tree'), job, AbortSignal.timeout(30_000))
          : inspectSealed(manifest, lab.blobs, job)
      }
      const all = Object.keys(tree).map(path => path.split('/')[0] ?? '')
      // A seal leaves pipes out.
      const expected = [...new Set(all)].filter(name => kind === 'live' || name !== 'pipe').toSorted()
      expect(names(await view(''))).toEqual(expected)
      expect(names(await view('src'))).toEqual(['a.ts', 'deep'])
      expect(await view('src/deep')).toEqual({
        found: 'directory',
        entries: [{ name: 'b.ts', kind: 'file', sizeBytes: 1 }],
        more: false,
      })
      expect(text(await view('README.md'))).toBe('# Hello\n')
      expect(text(await view('twin'))).toBe('# Hello\n')
      expect(text(await view('inside'))).toBe('export {}\n')
      expect(text(await view('caf\xc3\xa9'))).toBe('é')
      expect(text(await view('\xff'))).toBe('no text')
      // The agent may close files to itself; whoever may see its work sees them.
      expect(text(await view('closed/secret.txt'))).toBe('mine')
      // Where the program runs, there is no such file.
      for (const path of ['out', 'up']) expect((await view(path)).found).toBe(kind === 'live' ? 'nothing' : 'elsewhere')
      expect((await view('way')).found).toBe('elsewhere')
      expect((await view('round')).found).toBe('nothing')
      expect((await view('pipe')).found).toBe(kind === 'live' ? 'special' : 'nothing')
      for (const path of ['src/none', 'README.md/x', 'srcx', 'way/bin/env']) {
        expect(['nothing', 'elsewhere']).toContain((await view(path)).found)
      }
    },
    120_000,
  )

  test.each(['live', 'sealed'] as const)(
    'hands out ranges of at most 1 MiB, %s',
    async kind => {
      using lab = await TreeLab.open(uid)
      lab.make('tree', tree)
      const { manifest } = await lab.sealed('tree')
      const read = async (path: string, offset: number, bytes: number) => {
        const job = { path, offset, bytes }
        const seen =
          kind === 'live'
            ? await inspectTree(lab.tree('tree'), job, AbortSignal.timeout(30_000))
            : await inspectSealed(manifest, lab.blobs, job)
        if (seen.found !== 'file') throw new Error(seen.found)
        return seen
      }
      expect((await read('long.txt', MIB - 2, 4)).content.toString()).toBe('here')
      const first = await read('long.txt', 0, 5 * MIB)
      expect([first.sizeBytes, first.content.equals(long.subarray(0, MIB))]).toEqual([long.length, true])
      expect((await read('long.txt', 2 * MIB, MIB)).content.length).toBe(10)
      expect((await read('long.txt', 9 * MIB, MIB)).content.length).toBe(0)
      expect((await read('empty', 0, MIB)).content.length).toBe(0)
    },
    120_000,
  )
})

test('a damaged checkpoint is told as that', async () => {
  using lab = await TreeLab.open()
  lab.make('tree', { a: 'b' })
  const { manifest } = await lab.sealed('tree')
  const wrong = Buffer.from(
    manifest.toString().replace(/"sourceBytes":\d+,"storedBytes"/, '"sourceBytes":-1,"storedBytes"'),
  )
  await expect(inspectSealed(wrong, lab.blobs, { path: '', offset: 0, bytes: 1 })).rejects.toThrow('count')
})
