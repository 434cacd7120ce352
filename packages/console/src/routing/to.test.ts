import { createMemoryHistory } from '@tanstack/react-router'
import { expect, test, vi } from 'vitest'
import { readListSearch, readSessionSearch } from './searches.ts'
import { to } from './to.ts'

vi.stubGlobal('location', new URL('http://127.0.0.1/'))
const { makeRouter } = await import('./router.tsx')

const id = '0f8fad5b-d9cb-469f-a165-70867728950e'

test('every page has its path', () => {
  const router = makeRouter()
  router.update({ ...router.options, history: createMemoryHistory() })
  const pages = [
    to.sessions(),
    to.sessions({ q: 'flaky test', state: 'needs-you', archived: true }),
    to.newSession(),
    to.session(id),
    to.session(id, { panel: 'changes', event: 12 }),
    to.settings(),
  ]
  expect(pages.map(page => router.buildLocation(page).href)).toMatchInlineSnapshot(`
    [
      "/sessions",
      "/sessions?q=flaky+test&state=needs-you&archived=true",
      "/sessions/new",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e?panel=changes&event=12",
      "/settings",
    ]
  `)
})

test.each([
  [
    { q: 'x', state: 'working', archived: true },
    { q: 'x', state: 'working', archived: true },
  ],
  [{ q: 404 }, { q: '404' }],
  [{ q: '', state: 'odd', archived: 'yes', other: 1 }, {}],
])('filters are read from a URL that anybody may have edited: %j', (url, search) => {
  expect(readListSearch(url)).toEqual(search)
})

test.each([
  [
    { panel: 'details', event: 7 },
    { panel: 'details', event: 7 },
  ],
  [{ panel: '<script>', event: -1 }, {}],
  [{ event: '7' }, {}],
])('what a Session’s page shows is read from its URL: %j', (url, search) => {
  expect(readSessionSearch(url)).toEqual(search)
})
