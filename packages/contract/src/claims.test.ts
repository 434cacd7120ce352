import { expect, it } from 'vitest'
import { notBorneOut } from './claims.ts'

const files = [
  { path: 'src/till.ts' },
  { path: 'src/coins/count.ts', previousPath: 'src/count.ts' },
  { path: 'docs/till.md' },
  { path: 'package.json' },
]
const found = (description: string, verified = false) =>
  notBorneOut(description, { files, verified }).map(({ path }) => path ?? 'checks')

it.each([
  ['All tests pass.', ['checks']],
  ['The till counts again. Tests pass locally and in CI.', ['checks']],
  ['- [x] Unit tests pass', ['checks']],
  ['I ran `npm test` and all 42 tests passed.', ['checks']],
  ['`npm run lint` passes.', ['checks']],
  ['Type checks and lint are clean.', ['checks']],
  ['The full test suite is green.', ['checks']],
  ['CI is green on this branch', ['checks']],
  ['The build succeeds with the new flag.', ['checks']],
  ['**Tests:** 17 passed', ['checks']],
  ['It passes all existing tests.', ['checks']],
  ['Tests: ✅', ['checks']],
  ['There are no type errors.', ['checks']],
  ['I verified that all tests pass.', ['checks']],
  // Wishes, conditions, rules, and other things that pass.
  ['- [ ] All tests pass', []],
  ['The tests should pass now, but I could not run them.', []],
  ['Merge this once CI is green.', []],
  ['Make sure the tests pass before you merge.', []],
  ['I did not run the tests.', []],
  ['The tests do not pass yet: two of them need a database.', []],
  ['Do all tests pass?', []],
  ['Adds a test that the value passed to `count` is kept.', []],
  ['The tests pass a clock to the till.', []],
  ['Adds tests for passing null.', []],
  ['Fixes a build that passes the wrong flag to the linker.', []],
  ['The button is green when checks are enabled.', []],
  ['The guard checks the password of each request.', []],
  ['> All tests pass\n\nsaid the old description.', []],
  ['```\nTests  42 passed (42)\n```', []],
  ['Required checks: the merge waits until they pass.', []],
  ['The report says tests pass even when they were skipped, which this fixes.', []],
  // Files that the revision has, in whatever form.
  ['Updated `src/till.ts` to read `config/till.json`.', []],
  ['- `count.ts`: counts coins', []],
  ['Moved `src/count.ts` to `src/coins/count.ts`.', []],
  ['Added a section in `docs/till.md`.', []],
  ['Changes package.json.', []],
  // Files that it lacks.
  ['Added `src/till.test.ts` with three cases.', ['src/till.test.ts']],
  ['This PR updates `README.md`.', ['README.md']],
  ['Adds the missing translations in `locales/de.json`.', ['locales/de.json']],
  ['## Changes\n- `src/server.ts`: starts the till\n- `src/till.ts`: counts', ['src/server.ts']],
  ['1. [`src/audit.ts`](src/audit.ts) — logs each count', ['src/audit.ts']],
  ['Removed src/legacy/till.ts.', ['src/legacy/till.ts']],
  // Files that are only spoken of.
  ['See `docs/money.md` for the rules.', []],
  ['`src/server.ts` calls it at the start.', []],
  ['I did not change `src/server.ts`.', []],
  ['## Unchanged\n- `src/server.ts`: still starts the till', []],
  ['Not touched:\n- `src/server.ts`', []],
  ['Fixes a crash that `src/server.ts` met.', []],
  ['Adds a link to `docs/money.md`.', []],
  ['Should we update `README.md`?', []],
  ['Replaces `till.count` by `till.sum` for Node.js.', []],
  ['Changes how src/*.ts are found, see https://example.com/src/found.ts', []],
])('%j has %j that is not borne out', (description, expected) => {
  expect(found(description)).toEqual(expected)
})

it('a passed verification bears out that checks pass, and no file', () => {
  expect(found('All tests pass. Added `src/new.ts`.', true)).toEqual(['src/new.ts'])
})

it('a claim is told as it stands', () => {
  const text = 'Fine.\n\n- **All tests pass** here.'
  expect(notBorneOut(text, { files, verified: false })).toEqual([{ text: '- All tests pass here.' }])
})

it.each(['a', 'tests ', 'npm run ', 'src/', '`a', 'added the ', '- [x] '])('%j many times takes linear time', part => {
  expect(notBorneOut(part.repeat(200_000), { files, verified: false }).length).toBeLessThan(200_000)
})
