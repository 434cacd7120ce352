import { createMemoryHistory } from '@tanstack/react-router'
import { expect, test, vi } from 'vitest'
import { readAuditSearch, readListing, readListSearch, readSessionSearch, readUsageSearch } from './searches.ts'
import { to } from './to.ts'

vi.stubGlobal('location', new URL('http://127.0.0.1/'))
// The frame reads its preferences from the document as it is loaded; a router that meets one wants its history.
vi.stubGlobal('document', { documentElement: { dataset: {} } })
vi.stubGlobal('addEventListener', () => undefined)
const { makeRouter } = await import('./router.tsx')
vi.stubGlobal('document', undefined)

const id = '0f8fad5b-d9cb-469f-a165-70867728950e'

test('every page has its path', () => {
  const router = makeRouter()
  router.update({ ...router.options, history: createMemoryHistory() })
  const pages = [
    to.sessions(),
    to.sessions({ q: 'flaky test', state: 'needs_you', archived: true }),
    to.sessions({ everyone: true, repository: 'github:77' }),
    to.newSession(),
    to.session(id),
    to.session(id, { panel: 'changes', event: 12 }),
    to.review(id),
    to.compare(id, id),
    to.session(id, { panel: 'artifacts', artifact: id }),
    to.session(id, { panel: 'files', file: 'src/a b.ts', line: 3 }),
    to.pullRequests(),
    to.pullRequests({ state: 'merged', everyone: true }),
    to.pull('12', 3, { session: id }),
    to.environments(),
    to.environments({ archived: true }),
    to.newEnvironment(),
    to.environment(id),
    to.environment(id, { tab: 'secrets' }),
    to.organization(),
    to.members(),
    to.members({ q: 'ada', page: 2, dialog: 'edit', of: id }),
    to.integrations(),
    to.integration(id, { dialog: 'key' }),
    to.installations({ ended: true }),
    to.triggers(),
    to.trigger(id, id, { dialog: 'edit' }),
    to.apps(),
    to.app('web-shop'),
    to.webhooks({ app: 'web-shop', installation: id }),
    to.webhook('web-shop', id, id, { status: 'failed' }),
    to.usage(),
    to.usage({ by: 'model', whose: 'me', measure: 'tokens', from: '2026-03-01', to: '2026-03-31' }),
    to.git(),
    to.models(),
    to.limits(),
    to.compute(),
    to.audit(),
    to.audit({ actor: id, action: 'member', target: 'app x', from: '2026-03-01', to: '2026-03-31' }),
    to.health(),
    to.settings(),
    to.profile(),
    to.browsers(),
    to.gitAccounts({ back: '/sessions/new' }),
    to.appearance(),
    to.notifications(),
    to.shortcuts(),
  ]
  expect(pages.map(page => router.buildLocation(page).href)).toMatchInlineSnapshot(`
    [
      "/sessions",
      "/sessions?q=flaky+test&state=needs_you&archived=true",
      "/sessions?everyone=true&repository=github%3A77",
      "/sessions/new",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e?panel=changes&event=12",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e/review",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e/compare/0f8fad5b-d9cb-469f-a165-70867728950e",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e?panel=artifacts&artifact=0f8fad5b-d9cb-469f-a165-70867728950e",
      "/sessions/0f8fad5b-d9cb-469f-a165-70867728950e?panel=files&file=src%2Fa+b.ts&line=3",
      "/pull-requests",
      "/pull-requests?state=merged&everyone=true",
      "/pulls/12/3?session=0f8fad5b-d9cb-469f-a165-70867728950e",
      "/environments",
      "/environments?archived=true",
      "/environments/new",
      "/environments/0f8fad5b-d9cb-469f-a165-70867728950e",
      "/environments/0f8fad5b-d9cb-469f-a165-70867728950e?tab=secrets",
      "/organization",
      "/organization/members",
      "/organization/members?q=ada&page=2&dialog=edit&of=0f8fad5b-d9cb-469f-a165-70867728950e",
      "/organization/integrations",
      "/organization/integrations/0f8fad5b-d9cb-469f-a165-70867728950e?dialog=key",
      "/organization/installations?ended=true",
      "/organization/triggers",
      "/organization/triggers/0f8fad5b-d9cb-469f-a165-70867728950e/0f8fad5b-d9cb-469f-a165-70867728950e?dialog=edit",
      "/organization/apps",
      "/organization/apps/web-shop",
      "/organization/webhooks?app=web-shop&installation=0f8fad5b-d9cb-469f-a165-70867728950e",
      "/organization/webhooks/web-shop/0f8fad5b-d9cb-469f-a165-70867728950e/0f8fad5b-d9cb-469f-a165-70867728950e?status=failed",
      "/organization/usage",
      "/organization/usage?by=model&whose=me&measure=tokens&from=2026-03-01&to=2026-03-31",
      "/organization/git",
      "/organization/models",
      "/organization/limits",
      "/organization/compute",
      "/organization/audit",
      "/organization/audit?actor=0f8fad5b-d9cb-469f-a165-70867728950e&action=member&target=app+x&from=2026-03-01&to=2026-03-31",
      "/organization/health",
      "/settings",
      "/settings/profile",
      "/settings/browsers",
      "/settings/git?back=%2Fsessions%2Fnew",
      "/settings/appearance",
      "/settings/notifications",
      "/settings/shortcuts",
    ]
  `)
})

test.each([
  [
    { q: 'x', state: 'working', archived: true },
    { q: 'x', state: 'working', archived: true },
  ],
  [
    { everyone: true, repository: 'github:77' },
    { everyone: true, repository: 'github:77' },
  ],
  [{ q: 404 }, { q: '404' }],
  [{ everyone: 1, repository: 'github:77&x=1', pull: 'yes' }, {}],
  [{ q: '', state: 'odd', archived: 'yes', other: 1 }, {}],
])('filters are read from a URL that anybody may have edited: %j', (url, search) => {
  expect(readListSearch(url)).toEqual(search)
})

test.each([
  [
    { panel: 'details', event: 7 },
    { panel: 'details', event: 7 },
  ],
  [
    { panel: 'files', file: 'a.ts', line: 9 },
    { panel: 'files', file: 'a.ts', line: 9 },
  ],
  [{ file: 7, line: 0 }, { file: '7' }],
  [{ panel: '<script>', event: -1 }, {}],
  [{ event: '7' }, {}],
])('what a Session’s page shows is read from its URL: %j', (url, search) => {
  expect(readSessionSearch(url)).toEqual(search)
})

test.each([
  [
    { q: 'ada', page: 3, dialog: 'edit', of: id },
    { q: 'ada', page: 3, dialog: 'edit', of: id },
  ],
  [{ q: 7, page: 1, dialog: '<b>', of: '' }, { q: '7' }],
  [{ page: 'two', dialog: 4 }, {}],
])('what a table of the organization shows is read from its URL: %j', (url, search) => {
  expect(readListing(url)).toEqual(search)
})

test.each([
  [
    { by: 'model', whose: 'me', measure: 'tokens', range: '7d' },
    { by: 'model', whose: 'me', measure: 'tokens', range: '7d' },
  ],
  [
    { range: '7d', from: '2026-03-01', to: '2026-03-31' },
    { from: '2026-03-01', to: '2026-03-31' },
  ],
  [{ by: 'colour', whose: 'all', measure: 1, range: 'ever', from: '2026-02-30', to: '2026-03-31' }, {}],
])('what a report of usage shows is read from its URL: %j', (url, search) => {
  expect(readUsageSearch(url)).toEqual(search)
})

test.each([
  [
    { actor: id, action: 'member', target: 404, from: '2026-03-01' },
    { actor: id, action: 'member', target: '404', from: '2026-03-01' },
  ],
  [{ actor: '', action: 'x'.repeat(65), target: [], from: 'now', to: '2026-02-30' }, {}],
])('which entries of the audit log are shown is read from its URL: %j', (url, search) => {
  expect(readAuditSearch(url)).toEqual(search)
})
