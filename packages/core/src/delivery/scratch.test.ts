import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { clearScratch, openScratch } from './scratch.ts'

it('deletes scratch a day after its process was killed, and no scratch that may be in use', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'berth-scratch-'))
  try {
    const left = join(parent, 'delivery-left')
    await mkdir(left)
    await writeFile(join(left, 'pack'), 'x')
    const now = new Date()
    const before = new Date(now.getTime() - 25 * 60 * 60_000)
    await utimes(left, before, before)
    await using scratch = await openScratch(parent)
    await clearScratch(parent, now)
    expect(await readdir(parent)).toEqual([basename(scratch.path)])
  } finally {
    await rm(parent, { recursive: true })
  }
})
