import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LineComment } from './line-comments.ts'

/** Storage and event target of a browser, which its tabs share. */
let stored = new Map<string, string>()
let full = false
beforeEach(() => {
  stored = new Map()
  full = false
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, text: string) => {
      if (full) throw new Error('the quota is exceeded')
      stored.set(key, text)
    },
    removeItem: (key: string) => stored.delete(key),
  })
  vi.stubGlobal('window', new EventTarget())
})
afterEach(() => vi.unstubAllGlobals())

/** Loads the store as another tab would. */
async function tab() {
  vi.resetModules()
  return (await import('./comment-store.ts')).comments
}
const commentOf = (id: string): LineComment => ({ id, path: 'a', side: 'after', line: 1, quote: 'x', body: id })
const ids = (list: readonly LineComment[]) => list.map(({ id }) => id)

test('two tabs add to the comments of one another, and neither brings back what the other sent', async () => {
  const [one, two] = [await tab(), await tab()]
  expect([one.read('s'), two.read('s')]).toEqual([[], []])
  one.put('s', commentOf('1'))
  two.put('s', commentOf('2'))
  expect([ids(one.read('s')), ids(two.read('s'))]).toEqual([
    ['1', '2'],
    ['1', '2'],
  ])
  one.remove('s', '1')
  two.put('s', commentOf('3'))
  two.remove('s', '2')
  expect(ids(one.read('s'))).toEqual(['3'])
  // React asks for the list again and again, and it must be the same one.
  expect(one.read('s')).toBe(one.read('s'))
})

test('a tab hears of what another wrote', async () => {
  const comments = await tab()
  const heard = vi.fn()
  const leave = comments.subscribe(heard)
  const dispatch = (key: string | null) => window.dispatchEvent(Object.assign(new Event('storage'), { key }))
  dispatch('berth.theme')
  expect(heard).toHaveBeenCalledTimes(0)
  dispatch('berth.remarks.s')
  dispatch(null)
  expect(heard).toHaveBeenCalledTimes(2)
  leave()
  dispatch(null)
  expect(heard).toHaveBeenCalledTimes(2)
})

test('a page keeps its comments if the storage is full', async () => {
  const comments = await tab()
  comments.put('s', commentOf('1'))
  full = true
  comments.put('s', commentOf('2'))
  expect(ids(comments.read('s'))).toEqual(['1', '2'])
})

test('comments that an older page kept are there', async () => {
  stored.set('berth.remarks.s', JSON.stringify([commentOf('1')]))
  expect(ids((await tab()).read('s'))).toEqual(['1'])
})
