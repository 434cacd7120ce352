import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { putPack } from './take-tree.ts'

test('a pack that the store refuses before it has read it is closed', async () => {
  const taken: unknown[] = []
  const put = async (content: unknown) => {
    taken.push(content)
    throw new Error('no room')
  }
  await expect(putPack({ put }, import.meta.filename)).rejects.toThrow('no room')
  expect(taken).toEqual([expect.any(Readable)])
  expect(taken[0]).toHaveProperty('destroyed', true)
})
