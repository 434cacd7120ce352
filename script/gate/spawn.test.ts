import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../../packages/testing/src/until.ts'
import { endChildren, spawn } from '../testing/spawn.ts'
import { markVariable } from './marked-processes.ts'

test('a process dies with the one that started it, however that ends', async () => {
  const program = `
    const { spawn } = await import(${JSON.stringify(new URL('../testing/spawn.ts', import.meta.url).href)})
    process.stdout.write(String(spawn('sleep', ['600'], { stdio: 'ignore' }).pid))
    setInterval(() => {}, 1000)`
  await using parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = String((await once(parent.stdout, 'data'))[0])
  expect(existsSync(`/proc/${pid}`)).toBe(true)
  parent.kill('SIGKILL')
  await until('the end of what it started', () => !existsSync(`/proc/${pid}`))
})

test('a process carries the mark of the run beside variables of its own', async () => {
  const before = process.env[markVariable]
  onTestFinished(() => {
    delete process.env[markVariable]
    if (before !== undefined) process.env[markVariable] = before
  })
  process.env[markVariable] = 'a-run'
  await using child = spawn('env', [], { env: { OWN: 'yes' } })
  expect((await text(child.stdout)).trim().split('\n').sort()).toEqual([`${markVariable}=a-run`, 'OWN=yes'])
})

test('a process has ended once it is disposed of, and at the end of its file, with its group if it leads one', async () => {
  const isThere = (pid: string) => existsSync(`/proc/${pid}`)
  const leader = spawn('sh', ['-c', 'sleep 600 & echo $!; wait'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const member = String((await once(leader.stdout, 'data'))[0]).trim()
  const other = spawn('sleep', ['600'], { stdio: 'ignore' })
  await other[Symbol.asyncDispose]()
  expect([other.signalCode, leader.signalCode]).toEqual(['SIGKILL', null])
  await endChildren()
  expect(leader.signalCode).toBe('SIGKILL')
  await until('the end of the group', () => !isThere(member))
  await other[Symbol.asyncDispose]()
})
