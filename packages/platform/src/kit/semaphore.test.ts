import { expect, test } from 'vitest'
import { Semaphore, SemaphoreCrowded } from './semaphore.ts'

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

test('a semaphore refuses whoever is one too many, until somebody who waits has left or had a turn', async () => {
  const semaphore = new Semaphore(1, 2)
  const leaving = new AbortController()
  const first = await semaphore.take(null)
  const left = semaphore.take(leaving.signal, 'one')
  const second = semaphore.take(null, 'other')
  await expect(semaphore.take(null)).rejects.toThrow(SemaphoreCrowded)
  leaving.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  const third = semaphore.take(null)
  await expect(semaphore.take(null)).rejects.toThrow(SemaphoreCrowded)
  for (const permit of [Promise.resolve(first), second, third]) (await permit)[Symbol.dispose]()
  await semaphore.take(null)
})

test('a semaphore gives turns to owners, so none waits behind all that another asked for', async () => {
  const semaphore = new Semaphore(1)
  const order: string[] = []
  const work = async (owner: string, name: string) => {
    using _permit = await semaphore.take(null, owner)
    order.push(name)
  }
  const done = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(name => work(name.slice(0, 1), name))
  await Promise.all(done)
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2'])
})

test('a semaphore forgets an owner whose waiters have all left', async () => {
  const semaphore = new Semaphore(1)
  const leaving = new AbortController()
  const held = await semaphore.take(null, 'a')
  const left = [semaphore.take(leaving.signal, 'a'), semaphore.take(leaving.signal, 'b')]
  leaving.abort(new Error('left'))
  expect((await Promise.allSettled(left)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  held[Symbol.dispose]()
  using _permit = await semaphore.take(null, 'b')
})
