import { expect, it } from 'vitest'
import { PageCache } from './page-cache.ts'

it('drops what was used longest ago when it is full', () => {
  const cache = new PageCache(10)
  cache.set('a', 'aaaa')
  cache.set('b', 'bbbb')
  cache.get('a')
  cache.set('c', 'cccc')
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual(['aaaa', undefined, 'cccc'])
})

it('does not take what would not fit alone', () => {
  const cache = new PageCache(3)
  cache.set('a', 'a')
  cache.set('long', 'long')
  expect([cache.get('a'), cache.get('long')]).toEqual(['a', undefined])
})
