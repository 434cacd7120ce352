/**
 * Measures the console in Debian's Chromium against the real service: what has to arrive, how soon a Session of 5 000
 * Events can be used beside an empty one, and what a page does while 50 Events arrive in a second. Build the page first.
 * Run as: node bench/console.ts [seconds] [rounds]
 */
import { loadavg } from 'node:os'
import { builtPages, initialBytes, laterBytes } from '../packages/console/test/initial-bytes.ts'
import { appendEvents } from '../packages/core/src/sessions/log/append.ts'
import type { SessionKey } from '../packages/platform/src/kit/session-key.ts'
import { topics } from '../packages/platform/src/storage/postgres/wakeups.ts'
import { launchChromium } from '../packages/testing/src/browser/chromium.ts'
import { newVisitor } from '../packages/testing/src/browser/visitor.ts'
import { personWithPassword } from '../packages/testing/src/console/console-page.ts'
import { openSignedIn } from '../packages/testing/src/console/signed-in.ts'
import { agentEvent, hasOwnRow } from './support/agent-events.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { startBenchWakeups } from './support/bench-wakeups.ts'
import { median, quantile, show } from './support/statistics.ts'
import { WatchedPage } from './support/watched-page.ts'

const EVENTS = 5000
const PER_SECOND = 50
const TICK_MS = 10
const KIB = 1024
const seconds = Number(process.argv[2] ?? 20)
const rounds = Number(process.argv[3] ?? 7)

const print = (line: string) => process.stdout.write(`${line}\n`)
const load = () => `load ${show(loadavg()[0] ?? Number.NaN, 1)}`
/** Prints a figure beside its bound, and remembers a miss. */
function report(what: string, figure: number, bound: number, unit = '', baseline = ''): void {
  const missed = !(figure <= bound)
  if (missed) process.exitCode = 1
  const digits = unit === '' ? 2 : 1
  const of = `${show(figure, digits)}${unit}${baseline === '' ? '' : ` (${baseline})`}`
  print(`${what}: ${of}, to reach ${bound}${unit}${missed ? ': MISSED' : ''}`)
}

report('session page, compressed', initialBytes('session-page') / KIB, 230, ' KiB')
const [largest = ''] = builtPages().toSorted((a, b) => initialBytes(b) - initialBytes(a))
report(`largest route, ${largest}, compressed`, initialBytes(largest) / KIB, 300, ' KiB')
report('changed lines beyond it, compressed', laterBytes('session-page', 'changes') / KIB, 130, ' KiB')

await using bench = await openBenchDatabase()
await using service = await startBenchService(bench, { BERTH_ROLES: 'api,account' })
await using wakeups = await startBenchWakeups(bench)
await using stack = new AsyncDisposableStack()
const person = await personWithPassword(bench.db, bench.organizationId)
const [empty, long] = await bench.newSessions(2)
if (empty === undefined || long === undefined) throw new Error('there are no Sessions')

let written = 0
/** Appends the next Events of the long Session in one transaction. @returns the newest sequence */
async function append(count: number): Promise<number> {
  const drafts = Array.from({ length: count }, (_, at) => agentEvent(written + at))
  written += count
  const newest = await appendEvents(bench.db, long as SessionKey, drafts, new Date())
  if (newest === null) throw new Error('there is no Session')
  return newest
}
while (written < EVENTS) await append(500)

const browser = await launchChromium()
stack.defer(() => browser.close())
const { context, page: first } = stack.use(await newVisitor(browser, { scripts: true }))
await openSignedIn(first, `${service.url}/sessions`, person)
const icon = await first.locator('link[rel=icon]').first().getAttribute('href')
await first.close()
const open = () => WatchedPage.open(context, service.url + icon)
const pageOf = ({ sessionId }: SessionKey, search = '') => `${service.url}/sessions/${sessionId}${search}`

/** Opens a Session, and returns when it could be used, and what its page has cost until it rested. */
async function opening(url: string, shown?: number) {
  await using page = await open()
  const before = await page.mainThread()
  const usable = await page.usableAfterMs(url)
  if (shown !== undefined) await page.drawn(shown)
  await page.settled()
  const { tasks, processor } = await page.mainThread()
  return { usable, tasks: tasks - before.tasks, processor: processor - before.processor, heap: await page.heapBytes() }
}

print(`${EVENTS} Events beside none, ${rounds} rounds, ${load()}`)
const figures = { empty: [], end: [], whole: [] } as Record<string, Awaited<ReturnType<typeof opening>>[]>
for (let round = -1; round < rounds; round++) {
  const made = {
    empty: await opening(pageOf(empty)),
    end: await opening(pageOf(long)),
    whole: await opening(pageOf(long, '?event=1'), 1),
  }
  // The first round fills the browser's cache.
  if (round >= 0) for (const [name, figure] of Object.entries(made)) figures[name]?.push(figure)
}
type Figure = 'usable' | 'tasks' | 'processor' | 'heap'
const of = (name: string, figure: Figure) => median((figures[name] ?? []).map(each => each[figure]))
const ms = (figure: number) => `${show(figure, 0)} ms`
for (const [name, what] of [
  ['end', 'opened at its end'],
  ['whole', 'opened at its first Event, all loaded'],
] as const) {
  const [usable, bare] = [of(name, 'usable'), of('empty', 'usable')]
  report(`${what}: can be used, against the empty one`, usable / bare, 1.5, '', `${ms(usable)} against ${ms(bare)}`)
  const bareThread = `${show(of('empty', 'tasks'))} and ${show(of('empty', 'processor'))} s of the empty one`
  const thread = `${show(of(name, 'processor'))} s of processor time; ${bareThread}`
  report(`${what}: main thread in all`, of(name, 'tasks'), 1, ' s', thread)
  const bareHeap = `${show(of('empty', 'heap') / KIB ** 2, 1)} MiB of the empty one`
  report(`${what}: heap`, of(name, 'heap') / KIB ** 2, 20, ' MiB', bareHeap)
}

/** Appends one Event at a time, 50 in a second. @returns the dates of the commits by sequence, of Events with a row */
async function appendEvenly(forSeconds: number): Promise<Map<number, number>> {
  const committed = new Map<number, number>()
  const begun = performance.now()
  for (let sent = 0; sent < PER_SECOND * forSeconds; ) {
    const due = Math.min(PER_SECOND * forSeconds, ((performance.now() - begun) * PER_SECOND) / 1000)
    for (; sent < due; sent++) {
      const n = written
      const sequence = await append(1)
      if (hasOwnRow(n)) committed.set(sequence, Date.now())
      wakeups.publish(topics.session(bench.organizationId, (long as SessionKey).sessionId))
    }
    await new Promise(resolve => setTimeout(resolve, TICK_MS))
  }
  return committed
}

/** Measures frames and the main thread while something goes on. */
async function during<T>(page: WatchedPage, work: () => Promise<T>) {
  const before = await page.mainThread()
  const begun = performance.now()
  const [frames, done] = await Promise.all([page.frames(seconds), work()])
  const took = (performance.now() - begun) / 1000
  const { tasks, processor } = await page.mainThread()
  const [share, ofProcessor] = [(tasks - before.tasks) / took, (processor - before.processor) / took]
  return { p95: quantile(frames, 0.95), share: share * 100, ofProcessor: ofProcessor * 100, done }
}

const nothing = () => Promise.resolve()
for (const [search, what] of [
  ['', 'at the end'],
  ['?event=1', 'all loaded'],
] as const) {
  await using page = await open()
  await page.usableAfterMs(pageOf(long, search))
  if (search !== '') {
    await page.drawn(1)
    await page.page.getByRole('button', { name: 'Jump to latest' }).click()
  }
  await page.settled()
  print(`${PER_SECOND} Events a second for ${seconds} s, ${what}, ${load()}`)
  const idle = await during(page, nothing)
  const busy = await during(page, () => appendEvenly(seconds))
  const frames = `${show(busy.p95, 1)} ms against ${show(idle.p95, 1)} ms`
  report('frame, p95, against the same page idle', busy.p95 / idle.p95, 1.1, '', frames)
  const idleThread = `${show(idle.share, 1)} and ${show(idle.ofProcessor, 1)} % idle`
  report('main thread', busy.share, 25, ' %', `${show(busy.ofProcessor, 1)} % of a processor; ${idleThread}`)
  await page.settled()
  const painted = await page.paintedAt()
  const delays = [...busy.done].map(([sequence, at]) => (painted.get(sequence) ?? Number.NaN) - at)
  const seen = delays.filter(delay => !Number.isNaN(delay))
  print(`${seen.length} of ${delays.length} rows were seen; p95 ${ms(quantile(seen, 0.95))}`)
  report('commit to pixel, p50', median(seen), 100, ' ms')

  await page.page.evaluate(`document.querySelector('[role=log]').scrollTop -= 3000`)
  await page.settled()
  const [shift] = await Promise.all([
    page.page.evaluate<number>(`moved(ms => ms > ${seconds * 1000})`),
    appendEvenly(seconds),
  ])
  report('the row that is read moves while Events arrive', shift, 0, ' px')
}

await using page = await open()
await page.usableAfterMs(pageOf(long))
await page.settled()
const shifts: number[] = []
for (let time = 0; time < 5; time++) {
  // Beyond the reach of what loads earlier Events, so that the rows there are drawn and measured; then into it.
  await page.page.evaluate(`document.querySelector('[role=log]').scrollTop = 460`)
  await page.settled()
  const grown = `(before => () => document.querySelector('[role=log]').scrollHeight > before + 500)(document.querySelector('[role=log]').scrollHeight)`
  shifts.push(
    await page.page.evaluate<number>(`(document.querySelector('[role=log]').scrollTop = 380, moved(${grown}))`),
  )
  await page.settled()
}
report('the row that is read moves when earlier Events come above it', Math.max(...shifts), 0, ' px')
print(load())
