import { expect, test } from 'vitest'
import { Semaphore } from './semaphore.ts'

test('a semaphore serves waiters in turn, and passes over those that leave', async () => {
  const semaphore = new Semaphore(1)
  const forever = new AbortController().signal
  const leaving = new AbortController()
  const first = await semaphore.take(forever)
  const left = semaphore.take(leaving.signal)
  const second = semaphore.take(forever)
  leaving.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  first[Symbol.dispose]()
  const held = await second
  const third = semaphore.take(forever)
  held[Symbol.dispose]()
  await third
  await expect(semaphore.take(leaving.signal)).rejects.toThrow('left')
})
