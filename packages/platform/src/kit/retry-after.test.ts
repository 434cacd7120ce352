import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AnswerHeaders, LONGEST_PAUSE_MS, pauseUntilMs, retryAfterMs } from './retry-after.ts'

const HOUR_MS = 3_600_000
const now = Date.parse('2026-03-01T12:00:00Z')
const clock = { now: () => new Date(now) }
/** A time by the clock of a server that is an hour ahead. */
const there = (seconds: number) => new Date(now + HOUR_MS + seconds * 1000).toUTCString()

let respond: (response: ServerResponse) => void = () => undefined
const server = createServer((_, response) => {
  response.sendDate = false
  respond(response)
  response.end()
})
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  server.close()
})

/** Returns the headers of an answer as they come over the wire. */
async function answered(headers: Readonly<Record<string, string>>): Promise<AnswerHeaders> {
  respond = response => response.writeHead(429, headers)
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return Object.fromEntries(answer.headers)
}

it.each<readonly [string, Record<string, string>, number | undefined]>([
  ['a date of a server whose clock is an hour ahead', { date: there(0), 'retry-after': there(30) }, 30_000],
  ['a date of one that is an hour behind', { date: there(-7200), 'retry-after': there(-7170) }, 30_000],
  ['a date without that of the answer', { 'retry-after': there(-3570) }, 30_000],
  ['a date beside one that is none', { date: 'today', 'retry-after': there(-3570) }, 30_000],
  ['a date that is over', { date: there(0), 'retry-after': there(-30) }, 0],
  ['a date of next year', { date: there(0), 'retry-after': there(31_536_000) }, LONGEST_PAUSE_MS],
  ['seconds', { date: there(0), 'retry-after': ' 7 ' }, 7_000],
  ['parts of a second', { 'retry-after': '0.5' }, 500],
  ['very many seconds', { 'retry-after': '999999999' }, LONGEST_PAUSE_MS],
  ['endless seconds', { 'retry-after': 'Infinity' }, LONGEST_PAUSE_MS],
  ['fewer than none', { 'retry-after': '-5' }, 0],
  ['words', { 'retry-after': 'soon' }, undefined],
  ['nothing', {}, undefined],
  ['an empty text', { 'retry-after': '' }, undefined],
])('reads %s', async (_, headers, ms) => {
  expect(retryAfterMs(await answered(headers), clock)).toBe(ms)
})

it('reads the end of a rate limit by the clock of its server', async () => {
  const reset = now + HOUR_MS + 45_000
  expect(pauseUntilMs(reset, await answered({ date: there(0) }), clock)).toBe(45_000)
  expect(pauseUntilMs(now + 45_000, await answered({}), clock)).toBe(45_000)
  expect(pauseUntilMs(Number.NaN, await answered({}), clock)).toBeUndefined()
})
