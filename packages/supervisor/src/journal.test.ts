import { closeSync, constants, fstatSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeRecord, Journal, type Seal } from './journal.ts'

let directory = ''
let path = ''
let fd = 0

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-journal-'))
  path = join(directory, 'journal')
  fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600)
})

afterEach(() => {
  closeSync(fd)
  rmSync(directory, { recursive: true })
})

test('reads end between records, unless a record is longer than the read', () => {
  const journal = new Journal(fd)
  journal.append(Buffer.concat([encodeRecord('o', 'one'), encodeRecord('i', 'key', ' ', 'two')]))
  journal.append(encodeRecord('o', 'x'.repeat(30)))
  expect(journal.read(0, 10).toString()).toBe('o one\n')
  expect(journal.read(6, 20).toString()).toBe('i key two\n')
  expect(journal.read(16, 20).toString()).toBe(`o ${'x'.repeat(18)}`)
  expect(journal.read(36, 20).toString()).toBe(`${'x'.repeat(12)}\n`)
  expect(journal.read(journal.size, 20)).toHaveLength(0)
})

test('a full journal refuses records, reports it once, and shows last records after the file', () => {
  const journal = new Journal(fd, 12)
  const seals: Seal[] = []
  let growths = 0
  journal.onSeal = seal => seals.push(seal)
  journal.onGrowth = () => {
    growths += 1
  }
  expect(journal.append(encodeRecord('o', 'one'))).toBe(true)
  expect(journal.append(encodeRecord('o', 'two'))).toBe(true)
  expect(journal.append(encodeRecord('o', ''))).toBe(false)
  expect(journal.append(encodeRecord('o', ''))).toBe(false)
  expect(seals).toEqual([{ signal: 'JOURNAL_FULL' }])
  journal.appendLast(encodeRecord('x', '{}'))
  journal.appendLast(encodeRecord('f', 'k'))
  expect(growths).toBe(4)
  expect(readFileSync(path, 'latin1')).toBe('o one\no two\n')
  expect(journal.read(0, 100).toString()).toBe('o one\no two\n')
  expect(journal.read(12, 100).toString()).toBe('x {}\nf k\n')
  expect(journal.read(17, 100).toString()).toBe('f k\n')
  expect(journal.size).toBe(21)
  const boundaries = Array.from({ length: 30 }, (_, offset) => offset).filter(offset => journal.isBoundary(offset))
  expect(boundaries).toEqual([0, 6, 12, 17, 21])
})

test('last records are bounded too', () => {
  const journal = new Journal(fd, 0)
  for (let i = 0; i < 10_000; i += 1) journal.appendLast(encodeRecord('f', 'key refused'))
  expect(journal.size).toBeLessThanOrEqual(64 * 1024)
})

test('acknowledgements never move back and never past the end', () => {
  const journal = new Journal(fd)
  journal.append(encodeRecord('o', 'x'.repeat(97)))
  journal.acknowledge(40)
  journal.acknowledge(10)
  expect(journal.unacknowledgedBytes).toBe(60)
  journal.acknowledge(1000)
  expect(journal.unacknowledgedBytes).toBe(0)
  journal.append(encodeRecord('o', ''))
  expect(journal.unacknowledgedBytes).toBe(3)
})

test('forgotten records free their space, and offsets do not change', () => {
  const journal = new Journal(fd)
  const line = encodeRecord('o', 'x'.repeat(1021))
  const records = Buffer.concat(Array.from({ length: 1024 }, () => line))
  for (let n = 0; n < 20; n += 1) {
    journal.append(records)
    // The last earlier record must stay readable.
    journal.forget(journal.size - records.length - line.length)
    // No record begins at this offset.
    journal.forget(journal.size - 1)
  }
  const kept = records.length + line.length
  expect(journal.size).toBe(20 * records.length)
  expect(fstatSync(fd).size).toBeLessThan(kept + 8 * 1024 * 1024 + records.length)
  expect(journal.read(journal.size - kept, line.length).equals(line)).toBe(true)
  expect(
    [0, journal.size - kept - line.length, journal.size - kept, journal.size - line.length].map(offset =>
      journal.isBoundary(offset),
    ),
  ).toEqual([false, false, true, true])
})

test('forgotten records make room below the limit', () => {
  const journal = new Journal(fd, 32 * 1024 * 1024)
  const record = encodeRecord('o', 'x'.repeat(1024 * 1024))
  for (let n = 0; n < 100; n += 1) {
    expect(journal.append(record)).toBe(true)
    journal.forget(journal.size)
  }
  for (let n = 0; n < 20; n += 1) expect(journal.append(record)).toBe(true)
  while (journal.append(record));
  expect(journal.seal).toEqual({ signal: 'JOURNAL_FULL' })
})
