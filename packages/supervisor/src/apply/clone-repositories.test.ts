import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { cloneRepositories } from './clone-repositories.ts'
import type { CloneEntry } from './protocol.ts'

let directory: string
let server: Server
let url: string
/** Repositories that a clone has asked about. */
let requested: string[]
let answer: number | null
let lines: string[]
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'berth-clones-'))
  ;[requested, answer, lines] = [[], null, []]
  server = createServer((incoming, outgoing) => {
    const name = incoming.url?.split('/')[1] ?? ''
    requested.push(name)
    if (answer !== null && name === 'fails') outgoing.writeHead(answer).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.close().closeAllConnections()
  rmSync(directory, { recursive: true })
})

const clones = (
  repositories: readonly CloneEntry[],
  { timeoutMs = 60_000, stop = new AbortController().signal } = {},
) => cloneRepositories({ directory, repositories, timeoutMs }, line => lines.push(line), stop)
const named = (path: string) => ({ path, url: `${url}/${path}` })

it('leaves anything at a path alone, a dangling link as well', async () => {
  writeFileSync(join(directory, 'file'), '')
  symlinkSync('/nowhere', join(directory, 'link'))
  const { states } = await clones([named('file'), named('link')])
  expect([states, requested, lines]).toEqual([['kept', 'kept'], [], []])
})

it('clones four at once, and the first failure stops them and begins no other', async () => {
  const silent = ['a', 'b', 'c'].map(named)
  const ending = clones([...silent, named('fails'), named('e'), named('file')])
  answer = 404
  const { states } = await ending
  expect(states).toEqual([null, null, null, 'failed', null, null])
  expect(requested).not.toContain('e')
  expect(lines.filter(line => line.startsWith('fails: '))).toEqual([expect.stringContaining('not found')])
  expect(['a', 'fails'].some(path => existsSync(join(directory, path)))).toBe(false)
})

it('stops clones when their time is over, which fails those at work', async () => {
  // bound: it is to be over
  const { states } = await clones(['a', 'b', 'c', 'd', 'e'].map(named), { timeoutMs: 300 })
  expect(states).toEqual(['failed', 'failed', 'failed', 'failed', null])
})

it('stops clones when it is told to', async () => {
  const stop = new AbortController()
  const ending = clones([named('a')], { stop: stop.signal })
  stop.abort()
  expect((await ending).states).toEqual([null])
})
