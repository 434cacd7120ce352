import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HelperBounds } from '../helper-bounds.ts'
import { findCgroups } from '../linux/cgroups.ts'
import { type HelperGroup, helperCommand, openHelperGroup } from './helper-group.ts'

const GIB = 1024 ** 3
const bounds: HelperBounds = { memoryBytes: GIB, cpuSeconds: 60, fileBytes: GIB }
const cgroups = await findCgroups(`berth-test-${process.pid}.helpers`)
await cgroups?.tidy()

describe.runIf(cgroups !== undefined)('the cgroup of helper programs', () => {
  let dir = ''
  let group: HelperGroup
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'berth-group-'))
    group = await openHelperGroup(dir, { memoryBytes: GIB, cpus: 1, processes: 64 })
  })
  afterAll(async () => {
    await group[Symbol.asyncDispose]()
    rmSync(dir, { recursive: true })
  })

  /** Directories of the group, one in each tree. */
  const directories = async () =>
    (await helperCommand(bounds)).filter(word => word.endsWith('/cgroup.procs')).map(dirname)

  async function groupsOfHelper(): Promise<string> {
    const [shell = '', ...args] = await helperCommand(bounds)
    const { stdout } = spawnSync(shell, [...args, 'cat', '/proc/self/cgroup'], {
      encoding: 'utf8',
      env: { PATH: '/bin' },
    })
    return stdout
  }

  it('is restored after any part of it vanished, even if many programs join at once', async () => {
    const all = await directories()
    const before = await groupsOfHelper()
    expect(before.split(`.helpers/${process.pid}\n`)).toHaveLength(all.length + 1)
    for (const missing of [...all.map(each => [each]), all, [...all, ...all.map(dirname)]]) {
      for (const each of missing) rmdirSync(each)
      const joined = await Promise.all(Array.from({ length: 4 }, groupsOfHelper))
      expect(joined).toEqual(Array(4).fill(before))
    }
  })
})
