import { expect, it } from 'vitest'
import { PageCache } from './page-cache.ts'

it('drops the least recently used page when it is full', () => {
  const cache = new PageCache(10)
  cache.set('a', 'aaaa')
  cache.set('b', 'bbbb')
  cache.get('a')
  cache.set('c', 'cccc')
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual(['aaaa', undefined, 'cccc'])
})

it('does not take a page that is larger than its bound', () => {
  const cache = new PageCache(3)
  cache.set('a', 'a')
  cache.set('long', 'long')
  expect([cache.get('a'), cache.get('long')]).toEqual(['a', undefined])
})
