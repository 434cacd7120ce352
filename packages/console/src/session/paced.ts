/** Calls back when there is something to draw. */
export type Schedule = (work: () => void) => void

/** The timers of a browser's tab. */
export interface Pace {
  readonly now: () => number
  readonly isVisible: () => boolean
  readonly onFrame: (work: () => void) => void
  readonly after: (work: () => void, ms: number) => void
}

const browser: Pace = {
  now: () => performance.now(),
  isVisible: () => document.visibilityState === 'visible',
  onFrame: work => void requestAnimationFrame(work),
  after: (work, ms) => void setTimeout(work, ms),
}

/**
 * An agent at work appends an Event every few milliseconds. With 50 of them in a second, one drawing for each takes
 * 60 % of the main thread, and half of an Event's time to the screen is its wait for the next drawing. 75 ms end in the
 * fifth frame, 83 ms after the last drawing. 90 ms ended in the sixth: an agent with a step every 100 ms then met each
 * drawing at the same moment, and half of its runs waited for nearly the whole of it.
 */
export const betweenDrawsMs = 75

/** Returns a schedule that draws in the next frame, unless it has just drawn. */
export function paced(pace: Pace = browser): Schedule {
  let drawnAt = Number.NEGATIVE_INFINITY
  return work => {
    const draw = () => {
      drawnAt = pace.now()
      work()
    }
    const wait = drawnAt + betweenDrawsMs - pace.now()
    // A hidden tab draws no frames.
    if (!pace.isVisible()) pace.after(draw, 250)
    else if (wait <= 0) pace.onFrame(draw)
    else pace.after(() => pace.onFrame(draw), wait)
  }
}
