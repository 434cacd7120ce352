import { expect, test } from 'vitest'
import { editorHandOver } from './hand-over.ts'

const delivered = (createdAt: string, branch?: string) =>
  ({ createdAt, ...(branch === undefined ? {} : { result: { branch } }) }) as Parameters<
    typeof editorHandOver
  >[0][number]

test('the branch that was delivered last goes into a checkout', () => {
  const publications = [
    delivered('2026-01-01T00:00:00Z', 'svc/one'),
    delivered('2026-01-02T00:00:00Z', 'svc/two'),
    delivered('2026-01-03T00:00:00Z'),
  ]
  expect(editorHandOver(publications)?.command).toBe('git fetch origin svc/two && git switch svc/two')
})

test.each([[], ['$(reboot)'], ['a b'], ['-f'], ["a'b"]])('nothing is offered for %s', (...branches) => {
  expect(editorHandOver(branches.map(branch => delivered('2026-01-01T00:00:00Z', branch)))).toBeNull()
})
