import { expect, it } from 'vitest'
import { Slots } from './slots.ts'

it('refuses a request while all slots are taken, and takes it once one is free', () => {
  const slots = new Slots(2)
  const first = slots.take()
  {
    using _second = slots.take()
    expect(() => slots.take()).toThrow(expect.objectContaining({ status: 503 }))
  }
  using _third = slots.take()
  expect(() => slots.take()).toThrow('too many requests at once')
  first[Symbol.dispose]()
  expect(() => slots.take()).not.toThrow()
})
