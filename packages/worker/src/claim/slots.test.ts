import { describe, expect, it } from 'vitest'
import { Slots } from './slots.ts'

const stays = new AbortController().signal

describe('slots', () => {
  it('let others wait for their turn, in order, and refuse whoever is one too many', async () => {
    const slots = new Slots(2, 2)
    const served: string[] = []
    const serve = async (name: string) => {
      const slot = await slots.take(stays)
      served.push(name)
      return slot
    }
    const first = await serve('first')
    const second = await serve('second')
    const third = serve('third')
    const fourth = serve('fourth')
    await expect(serve('fifth')).rejects.toMatchObject({ status: 503, message: expect.stringMatching(/too many/) })
    expect(served).toEqual(['first', 'second'])
    second[Symbol.dispose]()
    await third
    expect(served).toEqual(['first', 'second', 'third'])
    first[Symbol.dispose]()
    for (const slot of [await third, await fourth]) slot[Symbol.dispose]()
    for (const name of ['sixth', 'seventh']) await serve(name)
    expect(served.slice(3)).toEqual(['fourth', 'sixth', 'seventh'])
  })

  it('are not kept for a client that has gone', async () => {
    const slots = new Slots(1, 8)
    const held = await slots.take(stays)
    const gone = new AbortController()
    const waiting = slots.take(gone.signal)
    const next = slots.take(stays)
    gone.abort()
    await expect(waiting).rejects.toMatchObject({ status: 503 })
    await expect(slots.take(AbortSignal.abort())).rejects.toMatchObject({ status: 503 })
    held[Symbol.dispose]()
    await next
  })
})
