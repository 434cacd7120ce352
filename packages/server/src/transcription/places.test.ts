import { expect, test } from 'vitest'
import { Places } from './places.ts'

test('serves waiters in turn, and passes over those that leave', async () => {
  const places = new Places(1)
  const forever = new AbortController().signal
  const leaving = new AbortController()
  const first = await places.take(forever)
  const left = places.take(leaving.signal)
  const second = places.take(forever)
  leaving.abort(new Error('left'))
  await expect(left).rejects.toThrow('left')
  first[Symbol.dispose]()
  const held = await second
  const third = places.take(forever)
  held[Symbol.dispose]()
  await third
  await expect(places.take(leaving.signal)).rejects.toThrow('left')
})
