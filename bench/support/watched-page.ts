import type { BrowserContext, CDPSession, Page } from 'playwright-core'

/** Notes in the page when rows are painted, and when there is something to use. Dates, as in the bench's own process. */
const watch = `
  const afterPaint = done => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => done(Date.now())
    port2.postMessage(null)
  })
  globalThis.painted = new Map()
  globalThis.usable = new Promise(resolve => {
    const look = () => {
      const log = document.querySelector('[role=log]')
      const told = log?.querySelector('[data-sequence]') ?? [...(log?.querySelectorAll('p') ?? [])].at(-1)
      const box = document.querySelector('textarea:not(:disabled)')
      for (const row of document.querySelectorAll('[data-sequence]')) {
        const sequence = Number(row.dataset.sequence)
        if (painted.has(sequence)) continue
        painted.set(sequence, null)
        afterPaint(at => painted.set(sequence, at))
      }
      if (told && box) afterPaint(() => resolve(performance.now()))
    }
    new MutationObserver(look).observe(document, { childList: true, subtree: true })
  })
  globalThis.frames = seconds => new Promise(resolve => {
    const times = []
    const step = now => {
      times.push(now)
      if (now - times[0] < seconds * 1000) requestAnimationFrame(step)
      else resolve(times.slice(1).map((time, at) => time - times[at]))
    }
    requestAnimationFrame(step)
  })
  globalThis.rowInSight = () => {
    const box = document.querySelector('[role=log]').getBoundingClientRect()
    const rows = [...document.querySelectorAll('[data-sequence]')]
    return rows.find(row => row.getBoundingClientRect().top > box.top + box.height / 3)
  }
  /** Returns how far the row that somebody reads has moved in any frame until a condition holds, and a little longer. */
  globalThis.moved = over => new Promise(resolve => {
    const sequence = rowInSight().dataset.sequence
    const topOf = () => document.querySelector('[data-sequence="' + sequence + '"]')?.getBoundingClientRect().top
    const [first, begun] = [topOf(), Date.now()]
    let [most, left] = [0, 10]
    const step = () => {
      // A row that is no longer drawn has left the window altogether.
      most = Math.max(most, Math.abs((topOf() ?? Infinity) - first))
      if (over(Date.now() - begun)) left -= 1
      if (left > 0) requestAnimationFrame(step)
      else resolve(most)
    }
    requestAnimationFrame(step)
  })
`

/** A page of the console whose main thread, frames, heap and rows are measured. */
export class WatchedPage implements AsyncDisposable {
  readonly page: Page
  readonly #cdp: CDPSession

  private constructor(page: Page, cdp: CDPSession) {
    this.page = page
    this.#cdp = cdp
  }

  /** Opens an empty document of the console's origin, so that what follows stays in one process of the browser. */
  static async open(context: BrowserContext, blank: string): Promise<WatchedPage> {
    const page = await context.newPage()
    await page.goto(blank)
    await page.addInitScript({ content: watch })
    const cdp = await context.newCDPSession(page)
    await cdp.send('Performance.enable')
    return new WatchedPage(page, cdp)
  }

  /** Seconds that the page's main thread has worked, with its waits for a processor, and without them. */
  async mainThread(): Promise<{ readonly tasks: number; readonly processor: number }> {
    return { tasks: await this.#metric('TaskDuration'), processor: await this.#metric('ThreadTime') }
  }

  /** Bytes of the heap that are in use once garbage is collected. */
  async heapBytes(): Promise<number> {
    for (let time = 0; time < 3; time++) await this.#cdp.send('HeapProfiler.collectGarbage')
    return this.#metric('JSHeapUsedSize')
  }

  /** Opens a page, and returns the milliseconds until it was painted and could be used. */
  async usableAfterMs(url: string): Promise<number> {
    await this.page.goto(url)
    return this.page.evaluate<number>('usable')
  }

  /** Returns milliseconds between frames. */
  frames(seconds: number): Promise<number[]> {
    return this.page.evaluate<number[]>(`frames(${seconds})`)
  }

  /** Returns dates of the paint of rows, by the sequence of their Event. */
  async paintedAt(): Promise<Map<number, number>> {
    const pairs = await this.page.evaluate<[number, number | null][]>('[...painted]')
    return new Map(pairs.filter((pair): pair is [number, number] => pair[1] !== null))
  }

  /** Waits until the row of an Event is drawn. */
  async drawn(sequence: number): Promise<void> {
    await this.page.locator(`[data-sequence="${sequence}"]`).waitFor({ state: 'attached', timeout: 60_000 })
  }

  /** Waits until the main thread has rested for a second. */
  async settled(): Promise<void> {
    for (let { processor: before } = await this.mainThread(); ; ) {
      await this.page.waitForTimeout(1000)
      const { processor: now } = await this.mainThread()
      if (now - before < 0.03) return
      before = now
    }
  }

  async #metric(wanted: string): Promise<number> {
    const { metrics } = await this.#cdp.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === wanted)?.value ?? Number.NaN
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.close()
  }
}
