import { expect, test } from 'vitest'
import { EgressRecorder } from './egress-recorder.ts'

const denied = { code: 'denied', reason: 'no' } as const
const denial = { reason: 'denied', message: 'no' }
const target = (host: string, port = 443) => ({ host, port })

function recorder() {
  const clock = { ms: 0 }
  return { clock, egress: new EgressRecorder(() => clock.ms) }
}

test('sums up what a sandbox had to do with a host until it is written', () => {
  const { egress } = recorder()
  egress.reached(target('a.example.org'))
  egress.reached(target('a.example.org'))
  egress.bytes({ ...target('a.example.org'), sent: 3, received: 5 })
  egress.bytes({ ...target('a.example.org'), sent: 1, received: 1 })
  egress.used({ ...target('a.example.org'), name: 'TOKEN' })
  egress.reached(target('a.example.org', 80))
  const none = { refused: 0, sentBytes: 0, receivedBytes: 0, lastReason: null, secrets: {} }
  const first = {
    ...none,
    ...target('a.example.org'),
    reached: 2,
    sentBytes: 4,
    receivedBytes: 6,
    secrets: { TOKEN: 1 },
  }
  expect(egress.take()).toEqual({
    refusals: [],
    hosts: [first, { ...none, ...target('a.example.org', 80), reached: 1 }],
  })
  expect([egress.isPending, egress.take()]).toEqual([false, { hosts: [], refusals: [] }])
})

test('tells a refused target once with its count, and again for another reason', () => {
  const { egress } = recorder()
  for (let count = 0; count < 3; count++) egress.refused(target('a.example.org'), denied)
  egress.refused(target('a.example.org'), { ...denied, code: 'nobody_to_ask' })
  const { hosts, refusals } = egress.take()
  expect(hosts).toMatchObject([{ refused: 4, lastReason: 'nobody_to_ask' }])
  expect(refusals).toEqual([
    { target: target('a.example.org'), ...denial, count: 3 },
    { target: target('a.example.org'), reason: 'nobody_to_ask', message: 'no', count: 1 },
  ])
})

test('keeps the words of a refusal whole, since they are not masked yet, or not at all', () => {
  const { egress } = recorder()
  egress.refused(target('a.example.org'), { ...denied, reason: 'x'.repeat(8 * 1024) })
  egress.refused(target('b.example.org'), { ...denied, reason: 'x'.repeat(8 * 1024 + 1) })
  expect(egress.take().refusals.map(({ message }) => message.length)).toEqual([8 * 1024, 0])
})

test('tells no part of a name that is too long to be one', () => {
  const { egress } = recorder()
  egress.refused(target(`${'x'.repeat(250)}secret`), { ...denied, code: 'policy' })
  egress.giveBack(egress.take())
  const batch = egress.take()
  expect(batch).toMatchObject({
    hosts: [{ host: '', port: 0, refused: 1 }],
    refusals: [{ target: null, reason: 'policy', count: 1 }],
  })
})

test('tells twenty targets a minute, and of further ones their count once the minute is over', () => {
  const { clock, egress } = recorder()
  for (let at = 0; at < 23; at++) egress.refused(target(`h${at}.example.org`), denied)
  expect(egress.take().refusals.map(refusal => refusal.target?.host)).toEqual(
    Array.from({ length: 20 }, (_, at) => `h${at}.example.org`),
  )
  egress.refused(target('later.example.org'), denied)
  expect([egress.take().refusals, egress.isPending]).toEqual([[], true])
  clock.ms = 60_000
  const further = { target: null, reason: 'further', message: '', count: 4 }
  expect(egress.take().refusals).toEqual([further])
  egress.refused(target('next.example.org'), denied)
  expect(egress.take().refusals).toMatchObject([{ target: target('next.example.org') }])
})

test('the last write does not wait for the end of the minute', () => {
  const { egress } = recorder()
  for (let at = 0; at < 21; at++) egress.refused(target(`h${at}.example.org`), denied)
  expect(egress.take(true).refusals.at(-1)).toMatchObject({ reason: 'further', count: 1 })
})

test('takes back what could not be written', () => {
  const { egress } = recorder()
  egress.refused(target('a.example.org'), denied)
  egress.used({ ...target('a.example.org'), name: 'TOKEN' })
  const batch = egress.take()
  egress.refused(target('a.example.org'), denied)
  egress.used({ ...target('a.example.org'), name: 'TOKEN' })
  egress.giveBack(batch)
  expect(egress.take()).toMatchObject({
    hosts: [{ refused: 2, secrets: { TOKEN: 2 } }],
    refusals: [{ count: 2 }],
  })
})

test('holds a bounded number of hosts: further ones are one without a name', () => {
  const { egress } = recorder()
  for (let at = 0; at < 1002; at++) egress.reached(target(`h${at}.example.org`))
  egress.reached(target('h0.example.org'))
  const { hosts } = egress.take()
  expect(hosts).toHaveLength(1001)
  expect(hosts[0]).toMatchObject({ host: 'h0.example.org', reached: 2 })
  expect(hosts.at(-1)).toMatchObject({ host: '', port: 0, reached: 2 })
})

test('counts a secret of any name, and of a host beyond the bound by the name of the host', () => {
  const { egress } = recorder()
  for (let at = 0; at < 1000; at++) egress.reached(target(`h${at}.example.org`))
  for (const name of ['__proto__', 'constructor']) egress.used({ ...target('used.example.org'), name })
  const batch = egress.take()
  egress.used({ ...target('used.example.org'), name: '__proto__' })
  egress.giveBack(batch)
  const used = egress.take().hosts.find(({ host }) => host === 'used.example.org')
  expect(Object.entries(used?.secrets ?? {}).toSorted()).toEqual([
    ['__proto__', 2],
    ['constructor', 1],
  ])
})

test('holds a bounded number of hosts that got a secret too, and loses no use', () => {
  const { egress } = recorder()
  for (let at = 0; at < 2003; at++) egress.used({ ...target(`h${at}.example.org`), name: 'TOKEN' })
  const { hosts } = egress.take()
  expect(hosts).toHaveLength(2001)
  expect(hosts.at(-1)).toMatchObject({ host: '', secrets: { TOKEN: 3 } })
})
