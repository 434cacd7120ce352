import { expect, test } from 'vitest'
import { isBelow } from './path-prefix.ts'

test('a path lies below a prefix by segments', () => {
  const below = ['/v1', '/v1/', '/v1/a']
  expect([...below, '/v10', '/V1', '/'].filter(path => isBelow(path, '/v1'))).toEqual(below)
  expect(['/v1', '/v1/', '/v1/a'].filter(path => isBelow(path, '/v1/'))).toEqual(['/v1/', '/v1/a'])
  expect(isBelow('/anything', '/')).toBe(true)
})
