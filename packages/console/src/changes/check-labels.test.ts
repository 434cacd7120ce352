import { expect, test } from 'vitest'
import { inOrder, linkOf, waitsFor } from './check-labels.ts'

const check = (name: string, state: string, required = false) => ({ name, state, required })
const all = [
  check('docs', 'success'),
  check('flaky', 'failure'),
  check('lint', 'success', true),
  check('review app', 'missing', true),
  check('tests', 'failure', true),
]

test('what keeps from merging comes first', () => {
  expect(inOrder(all).map(({ name }) => name)).toEqual(['tests', 'review app', 'lint', 'flaky', 'docs'])
})

test('a merge waits for required checks by name, and for the rest', () => {
  expect(waitsFor(all, ['checks', 'draft'])).toEqual(['Waits for tests, review app.', 'It is a draft.'])
  expect(waitsFor([check('lint', 'success', true)], ['rules'])).toEqual([
    'The rules of the branch do not allow it yet, a review for example.',
  ])
  expect(waitsFor([], [])).toEqual([])
})

test.each([
  ['https://ci.example/7', 'ci.example'],
  ['http://127.0.0.1:9/x', '127.0.0.1:9'],
  ['javascript:alert(1)', undefined],
  ['data:text/html,x', undefined],
  ['/relative', undefined],
  [undefined, undefined],
])('%s leads to %s', (url, host) => {
  expect(linkOf(url)?.host).toBe(host)
})
