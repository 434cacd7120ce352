import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runProgram } from '../linux/run-program.ts'
import { openClosedNode } from './closed-node.ts'

/** Any small program, in place of Node. */
const PROGRAM = '/bin/true'

describe('the unreadable copy of Node', () => {
  let root: string
  let dir: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'berth-closed-'))
    dir = join(root, 'closed-node')
  })
  afterEach(() => rm(root, { recursive: true, force: true }))

  it('is made once and can be run but not read', async () => {
    const first = await (await openClosedNode(dir, PROGRAM)).path()
    const { ino, mode, size } = await stat(first)
    expect(mode & 0o7777).toBe(0o111)
    expect(size).toBe((await stat(PROGRAM)).size)
    expect((await stat(await (await openClosedNode(dir, PROGRAM)).path())).ino).toBe(ino)
    expect(await readdir(dir)).toHaveLength(1)
  })

  it('replaces copies of another Node, and is made again after another release removed it', async () => {
    const old = await openClosedNode(dir, PROGRAM)
    const fresh = await openClosedNode(dir, '/bin/echo')
    expect(await readdir(dir)).toEqual([(await fresh.path()).slice(dir.length + 1)])
    expect((await stat(await old.path())).mode & 0o7777).toBe(0o111)
    expect(await readdir(dir)).toHaveLength(2)
  })

  it('is made once even if many processes make it at the same time', async () => {
    const opened = await Promise.all(Array.from({ length: 5 }, () => openClosedNode(dir, PROGRAM)))
    const paths = new Set(await Promise.all(opened.map(closed => closed.path())))
    expect(paths.size).toBe(1)
    expect(await readdir(dir)).toHaveLength(1)
  })

  it('leaves nothing behind and advises the operator if it cannot be run', async ({ skip }) => {
    skip(process.getuid?.() !== 0, 'only root can mount')
    await mkdir(dir)
    await runProgram('mount', ['-t', 'tmpfs', '-o', 'noexec,size=1m', 'none', dir])
    try {
      await expect(openClosedNode(dir, PROGRAM)).rejects.toThrow(/not mounted noexec/)
      expect(await readdir(dir)).toEqual([])
    } finally {
      await runProgram('umount', [dir])
    }
  })
})
