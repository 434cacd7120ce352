import { expect, test } from 'vitest'
import { IndexWriter } from './index-writer.ts'
import { pathAt } from './record.ts'

const identity = { ino: 1, mtimeMs: 2, ctimeMs: 3 }

function write(paths: readonly string[]): { writer: IndexWriter; parts: Buffer[] } {
  const parts: Buffer[] = []
  const writer = new IndexWriter(1e9, part => parts.push(Buffer.from(part)))
  for (const path of paths) {
    writer.file(path, { mode: 0o644, mtimeUs: 1, size: 0, chunks: [], identity })
  }
  writer.segments()
  return { writer, parts }
}

const paths = Array.from({ length: 40_000 }, (_, n) => `src/${String(n).padStart(6, '0')}.ts`)

test('one more file changes few segments', () => {
  const before = write(paths).parts
  const after = write(paths.toSpliced(20_000, 0, 'src/020000-new.ts')).parts
  expect(Buffer.concat(before).length).toBeGreaterThan(0)
  expect(before.length).toBeGreaterThan(5)
  const known = new Set(before.map(part => part.toString('latin1')))
  expect(after.filter(part => !known.has(part.toString('latin1'))).length).toBeLessThan(4)
})

test('copied entries equal written ones, whatever other entries lie between them', () => {
  const { writer: old } = write(paths)
  const copied = new IndexWriter(1e9, () => undefined)
  const fresh = new IndexWriter(1e9, () => undefined)
  let at = 0
  for (const [n, path] of paths.entries()) {
    const end = at + old.bytes.length / paths.length
    expect(pathAt(old.bytes, at)).toBe(path)
    copied.copy(path, old.bytes, at, end, identity)
    fresh.file(path, { mode: 0o644, mtimeUs: 1, size: 0, chunks: [], identity })
    if (n % 1000 === 0) for (const one of [copied, fresh]) one.symlink(`${path}.link`, 5, 'target', undefined)
    at = end
  }
  expect(copied.segments()).toEqual(fresh.segments())
  expect(copied.bytes.equals(fresh.bytes)).toBe(true)
  expect(copied.identities).toEqual(fresh.identities)
})

test('an index over its limit is refused', () => {
  const writer = new IndexWriter(100, () => undefined)
  expect(() => {
    for (const path of paths) writer.directory(path, 0o755, 0, undefined)
  }).toThrow('over_limit')
})
