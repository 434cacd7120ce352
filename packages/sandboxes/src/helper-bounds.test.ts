import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { boundedCommand, boundOf, type HelperBounds } from './helper-bounds.ts'

const ample: HelperBounds = { memoryBytes: 1024 ** 3, cpuSeconds: 60, fileBytes: 1024 ** 2 }

/**
 * Runs a command within bounds.
 * @returns the bound that ended it
 */
function run(bounds: Partial<HelperBounds>, ...command: readonly string[]) {
  const [shell = '', ...args] = boundedCommand({ ...ample, ...bounds }, [])
  const { status, signal, stderr } = spawnSync(shell, [...args, ...command], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  })
  return { status, bound: boundOf(signal ?? status, stderr) }
}

describe('a helper program', () => {
  it('runs normally within its bounds', () => {
    expect(run({}, 'sh', '-c', 'exit 3')).toEqual({ status: 3, bound: undefined })
    expect(run({}, 'true')).toEqual({ status: 0, bound: undefined })
  })

  it('ends with the name of the bound that it exceeds', () => {
    expect(run({ memoryBytes: 64 * 1024 ** 2 }, 'perl', '-e', '$x = "x" x 100_000_000').bound).toBe('memory')
    expect(run({ cpuSeconds: 1 }, 'sh', '-c', 'while :; do :; done').bound).toBe('processor time')
    const dir = mkdtempSync(join(tmpdir(), 'berth-bounds-'))
    try {
      expect(
        run({ fileBytes: 4096 }, 'dd', 'if=/dev/zero', `of=${join(dir, 'file')}`, 'bs=8192', 'count=1').bound,
      ).toBe('file size')
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})
