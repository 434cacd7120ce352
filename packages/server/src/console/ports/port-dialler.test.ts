import { once } from 'node:events'
import { Duplex } from 'node:stream'
import { SandboxGoneError } from '@berth/sandboxes/driver.ts'
import { expect, it } from 'vitest'
import { PortDialler } from './port-dialler.ts'

const { signal: never } = new AbortController()

/** A supervisor that answers when it is told to. */
class Supervisor {
  isStopped = false
  /** Connections that it has not answered. */
  readonly waiting: Duplex[] = []
  attached = 0

  readonly door = {
    isStopped: () => this.isStopped,
    attach: async () => {
      this.attached += 1
      const stream: Duplex = new Duplex({ read() {}, write: (_, __, done) => done() })
      this.waiting.push(stream)
      return stream
    },
  }

  answer(dial: 'open' | 'refused'): void {
    this.waiting.shift()?.push(`${JSON.stringify({ dial })}\n`)
  }
}

/** Lets everything run that waits for nothing. */
const settled = () => new Promise(resolve => setImmediate(resolve))

it('has one connection for each sandbox that waits for its supervisor', async () => {
  const supervisor = new Supervisor()
  const dialler = new PortDialler()
  const dials = Array.from({ length: 20 }, () => dialler.dial(supervisor.door, 'a', 3000, never))
  const other = dialler.dial(supervisor.door, 'b', 3000, never)
  await settled()
  expect(supervisor.attached).toBe(2)
  for (let answered = 0; answered < 21; answered += 1) {
    expect(supervisor.waiting.length).toBeLessThanOrEqual(2)
    supervisor.answer(answered % 2 === 0 ? 'open' : 'refused')
    await settled()
  }
  const made = await Promise.all([...dials, other])
  expect(made.filter(each => each === 'refused')).toHaveLength(10)
  expect(supervisor.attached).toBe(21)
})

it('asks no supervisor of a sandbox that stands still', async () => {
  const supervisor = new Supervisor()
  supervisor.isStopped = true
  const dialler = new PortDialler()
  expect(await dialler.dial(supervisor.door, 'a', 3000, never)).toBe('at_rest')
  expect(supervisor.attached).toBe(0)
  supervisor.isStopped = false
  const later = dialler.dial(supervisor.door, 'a', 3000, never)
  await settled()
  supervisor.answer('refused')
  expect(await later).toBe('refused')
})

it('asks a silent supervisor once for all who wait', async () => {
  const supervisor = new Supervisor()
  const dialler = new PortDialler()
  const dials = [1, 2, 3].map(() => dialler.dial(supervisor.door, 'a', 3000, never))
  await settled()
  supervisor.waiting[0]?.destroy()
  expect(await Promise.all(dials)).toEqual(['at_rest', 'at_rest', 'at_rest'])
  expect(supervisor.attached).toBe(1)
})

it('makes no connection for a browser that left while it waited', async () => {
  const supervisor = new Supervisor()
  const dialler = new PortDialler()
  const first = dialler.dial(supervisor.door, 'a', 3000, never)
  const browser = new AbortController()
  const second = dialler.dial(supervisor.door, 'a', 3000, browser.signal)
  await settled()
  browser.abort()
  expect(await second).toBe('left')
  supervisor.answer('open')
  const stream = await first
  if (!(stream instanceof Duplex)) throw new Error(`no connection: ${stream}`)
  stream.destroy()
  await once(stream, 'close')
  expect(supervisor.attached).toBe(1)
})

it('tells that a sandbox has gone', async () => {
  const gone = { isStopped: () => false, attach: () => Promise.reject(new SandboxGoneError('gone')) }
  expect(await new PortDialler().dial(gone, 'a', 3000, never)).toBe('gone')
})
