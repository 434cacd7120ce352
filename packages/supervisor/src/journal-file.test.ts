import { closeSync, constants, fstatSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { JournalFile, type JournalFileOptions } from './journal-file.ts'

const MIN_BYTES = 64

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-journal-file-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

function withFile(use: (fd: number) => void): void {
  const fd = openSync(join(directory, 'journal'), constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC, 0o600)
  try {
    use(fd)
  } finally {
    closeSync(fd)
  }
}

const readAll = (file: JournalFile) => file.read(file.start, Buffer.alloc(file.end - file.start)).toString('latin1')

/** Makes the given writes and truncations fail, counted together; a write that fails has written half. */
function failing(fails: (call: number) => boolean): JournalFileOptions {
  let call = 0
  return {
    minReclaimedBytes: MIN_BYTES,
    write: (fd, bytes, offset, length, at) => {
      if (!fails(call++)) return writeSync(fd, bytes, offset, length, at)
      writeSync(fd, bytes, offset, length >> 1, at)
      throw new Error('no more')
    },
    truncate: (fd, length) => {
      if (fails(call++)) throw new Error('no')
      ftruncateSync(fd, length)
    },
  }
}

type Step = { readonly append: number } | { readonly forget: number }
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ append: fc.integer({ min: 0, max: 200 }) }),
    fc.record({ forget: fc.integer({ min: 0, max: 100 }) }),
  ),
  { maxLength: 60 },
)

/**
 * Applies the steps to a file and to a string, which must agree after each. `forget` is a percentage of the kept part.
 */
function follow(file: JournalFile, todo: readonly Step[], after: (kept: string) => void): void {
  let kept = ''
  let next = 0
  for (const step of todo) {
    if ('append' in step) {
      const text = Array.from({ length: step.append }, () => String.fromCharCode(97 + (next++ % 26))).join('')
      try {
        file.append(Buffer.from(text))
        kept += text
      } catch {
        // A failed append leaves nothing in the file.
      }
    } else {
      const forgotten = Math.floor((kept.length * step.forget) / 100)
      file.forget(file.start + forgotten)
      kept = kept.slice(forgotten)
    }
    expect(readAll(file)).toBe(kept)
    after(kept)
  }
}

test('the kept part reads as written, and the file is at most about twice as long', () => {
  fc.assert(
    fc.property(steps, todo =>
      withFile(fd => {
        const file = new JournalFile(fd, { minReclaimedBytes: MIN_BYTES })
        follow(file, todo, () => expect(fstatSync(fd).size).toBe(file.fileBytes))
        file.forget(file.start)
        expect(file.fileBytes).toBeLessThanOrEqual(
          Math.max(2 * (file.end - file.start), file.end - file.start + MIN_BYTES),
        )
      }),
    ),
  )
})

test('the kept part reads as written, whichever write or truncation fails half-way', () => {
  fc.assert(
    fc.property(steps, fc.array(fc.nat(40), { maxLength: 8 }), (todo, failures) =>
      withFile(fd => {
        const failed = new Set(failures)
        follow(
          new JournalFile(
            fd,
            failing(call => failed.has(call)),
          ),
          todo,
          () => undefined,
        )
      }),
    ),
  )
})

test('forgetting stops at the end of the file, and never moves back', () => {
  withFile(fd => {
    const file = new JournalFile(fd, { minReclaimedBytes: 1 })
    file.append(Buffer.from('one\ntwo\n'))
    file.forget(4)
    file.forget(0)
    expect([file.start, file.end, file.fileBytes, readAll(file)]).toEqual([4, 8, 4, 'two\n'])
    file.forget(1000)
    expect([file.start, file.end, file.fileBytes]).toEqual([8, 8, 0])
    file.append(Buffer.from('three\n'))
    expect([file.start, readAll(file)]).toEqual([8, 'three\n'])
  })
})
