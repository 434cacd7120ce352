import { Redactor } from '@berth/platform/kit/redactor.ts'
import { MAX_HEAD_BYTES, MAX_TAIL_BYTES } from '@berth/supervisor/apply'
import { expect, it } from 'vitest'
import { CheckOutput } from './check-output.ts'

it('bounds what a check writes in the name of the program that would bound it', () => {
  const output = new CheckOutput(new Redactor(), async () => {})
  const piece = 'é'.repeat(64 * 1024)
  for (let pieces = 0; pieces < 16; pieces += 1) output.push(piece)
  expect(output.end().whole).toBe(`${'é'.repeat(MAX_HEAD_BYTES / 2)}\n[berth: some output is left out here]\n`)
  output.replaceTail('z'.repeat(16 * MAX_TAIL_BYTES))
  const { whole, tail } = output.end()
  expect(whole.endsWith(`here]\n${'z'.repeat(MAX_TAIL_BYTES)}`)).toBe(true)
  expect(Buffer.byteLength(whole)).toBeLessThan(200 * 1024)
  expect(tail).toBe('z'.repeat(8192))
})

it('tells its end so far while the check runs, masked, and only when that has changed', async () => {
  const tails: string[] = []
  const output = new CheckOutput(new Redactor(['hunter2hunter2']), async tail => void tails.push(tail))
  await output.report()
  output.push('key hunter2hun')
  await output.report()
  output.push('ter2, 1 of 9 tests\n')
  await output.report()
  await output.report()
  output.push('z'.repeat(9_000))
  await output.report()
  expect(tails.slice(0, 2)).toEqual(['key ', 'key [secret], 1 of 9 tests\n'])
  expect(tails.slice(2)).toEqual(['z'.repeat(8192)])
  expect(output.end().whole).toBe(`key [secret], 1 of 9 tests\n${'z'.repeat(9_000)}`)
})
