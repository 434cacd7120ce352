import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProgram } from './run-program.ts'
import { mountsBelow, unmountBelow } from './unmount-below.ts'

test.runIf(process.getuid?.() === 0)('unmounts beside others that unmount the same', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'berth-unmount-'))
  for (let round = 0; round < 5; round += 1) {
    for (const name of ['a', 'b']) {
      await mkdir(join(dir, name), { recursive: true })
      await runProgram('mount', ['-t', 'tmpfs', 'none', join(dir, name)])
    }
    await Promise.all(Array.from({ length: 4 }, () => unmountBelow(dir)))
    expect(await mountsBelow(dir)).toEqual([])
  }
  await rm(dir, { recursive: true })
})
