import { describe, expect, it } from 'vitest'
import { Underway } from './underway.ts'

/** Begins work that lasts until the returned function is called. */
function begin(underway: Underway, owner: string): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  underway.add(owner, promise)
  return async () => {
    resolve()
    await promise
    await Promise.resolve()
  }
}

describe('work under way', () => {
  it('is bounded as a whole and for each owner', async () => {
    const underway = new Underway({ most: 3, ofOwner: 2 })
    const endFirst = begin(underway, 'slow')
    expect([underway.room, underway.owners, underway.full]).toEqual([2, ['slow'], []])
    begin(underway, 'slow')
    begin(underway, 'other')
    expect([underway.room, underway.owners, underway.full]).toEqual([0, ['slow', 'other'], ['slow']])
    await endFirst()
    expect([underway.room, underway.full]).toEqual([1, []])
  })

  it('has settled when all of it is over, the work included that began meanwhile', async () => {
    const underway = new Underway({ most: 3, ofOwner: 2 })
    const end = begin(underway, 'one')
    let hasSettled = false
    const settled = underway.settled().then(() => {
      hasSettled = true
    })
    const endLater = begin(underway, 'two')
    await end()
    expect(hasSettled).toBe(false)
    await endLater()
    await settled
    expect(underway.room).toBe(3)
  })
})
