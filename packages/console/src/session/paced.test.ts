import { describe, expect, it } from 'vitest'
import { betweenDrawsMs, paced } from './paced.ts'

/** A tab whose time passes by hand, with a frame at every 16th millisecond. */
function tab() {
  let [now, visible] = [0, true]
  const due: { at: number; work: () => void }[] = []
  const at = (when: number, work: () => void) => void due.push({ at: when, work })
  return {
    pace: {
      now: () => now,
      isVisible: () => visible,
      onFrame: (work: () => void) => at(Math.floor(now / 16) * 16 + 16, work),
      after: (work: () => void, ms: number) => at(now + ms, work),
    },
    hide: () => {
      visible = false
    },
    pass(ms: number) {
      for (const end = now + ms; now < end; ) {
        now += 1
        for (const { work } of due.filter(one => one.at === now)) work()
      }
    },
  }
}

describe('the schedule of a log', () => {
  it('draws the first Event after a rest in the next frame', () => {
    const { pace, pass } = tab()
    const drawn: number[] = []
    const schedule = paced(pace)
    for (let time = 0; time < 3; time++) {
      schedule(() => drawn.push(pace.now()))
      pass(160)
    }
    expect(drawn).toEqual([16, 176, 336])
  })

  it('draws Events that follow one another at most once in a while', () => {
    const { pace, pass } = tab()
    const drawn: number[] = []
    const schedule = paced(pace)
    const follow = () =>
      schedule(() => {
        drawn.push(pace.now())
        follow()
      })
    follow()
    pass(1000)
    const gaps = drawn.slice(1).map((at, before) => at - (drawn[before] ?? 0))
    expect(gaps.length).toBeGreaterThan(5)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(betweenDrawsMs)
    expect(Math.max(...gaps)).toBe(5 * 16)
  })

  it('goes on in a hidden tab, which draws no frames', () => {
    const { pace, pass, hide } = tab()
    let drawn = false
    hide()
    paced({ ...pace, onFrame: () => undefined })(() => {
      drawn = true
    })
    pass(250)
    expect(drawn).toBe(true)
  })
})
