import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadSettings } from '../packages/platform/src/settings/settings.ts'
import { renderCommands } from './docs/cli-page.ts'
import { renderErrors } from './docs/errors-page.ts'
import { renderEvents } from './docs/events-page.ts'
import { renderReferenceCommands } from './docs/reference-commands.ts'
import { danglingReferences } from './docs/references.ts'
import { renderSettings } from './docs/settings-page.ts'
import { renderTables } from './docs/tables-page.ts'
import { innerRooms, type Rooms, rooms } from './imports/rooms.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const page = read('docs/settings.md')

test.each([
  ['settings.md', renderSettings],
  ['cli-reference.md', renderCommands],
  ['errors.md', renderErrors],
  ['events.md', renderEvents],
  ['internals/tables.md', renderTables],
])('docs/%s is as `node script/docs.ts` writes it', (name, render) => {
  expect(read(`docs/${name}`)).toBe(render())
})

test('the API reference knows every command, as `node script/docs.ts` writes them', () => {
  expect(read('packages/core/src/http/docs/commands.ts')).toBe(renderReferenceCommands())
})

test('the example of the settings is a valid configuration file', () => {
  const example = /```json\n([\s\S]*?)```/.exec(page)?.[1]
  const environment = { LOCAL_API_KEY: 'x', GITHUB_APP_KEY: 'y', ACME_SECRET: 'z' }
  const { config } = loadSettings(environment, () => example)
  expect(config.runtimes).toHaveLength(1)
})

const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md'], { cwd: root }).sort()

describe('every path and every link leads somewhere', () => {
  test.each(pages)('in %s', path => {
    expect(danglingReferences(root, path, read(path))).toEqual([])
  })
})

test.each([
  ['a file that is gone', '`core/sessions/session/gone.ts`'],
  ['a folder that is gone', '`core/sessions/gone/`'],
  ['a folder by a name that only looks like code', '`core/sessions/gone`'],
  ['a bare file name that no source has', '`gone-sql.ts`'],
  ['a link', '[gone](gone.md)'],
  ['a link to a heading of the page', '[gone](#gone)'],
])('%s is found', (_, text) => {
  expect(danglingReferences(root, 'docs/page.md', `# Page\n\nSee ${text}.\n`)).toHaveLength(1)
})

test.each([
  ['a file of a package', '`core/sessions/session/phase.ts`'],
  ['a folder of the repository', '`packages/contract/`'],
  ['a media type', '`application/json`'],
  ['a path inside a sandbox', '`/workspace/project`'],
  ['a link to a heading of the page', '[here](#a-page)'],
  ['a link to the web', '[there](https://example.com/gone.md)'],
  ['a path in a code block', '\n```sh\ncat `gone.ts`\n```\n'],
])('%s is left alone', (_, text) => {
  expect(danglingReferences(root, 'docs/page.md', `# A page\n\nSee ${text}\n`)).toEqual([])
})

test('source files cite only pages and headings that are there', () => {
  const sources = globSync(['packages/*/src/**/*.ts', 'script/**/*.ts'], { cwd: root })
  const cited = sources
    .filter(path => !path.endsWith('.test.ts'))
    .flatMap(path =>
      [...read(path).matchAll(/\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g)].map(([reference]) => `[${path}](${reference})`),
    )
  expect(danglingReferences(root, 'README.md', cited.join('\n'))).toEqual([])
})

test('the patches of the first change in CONTRIBUTING.md apply here, or have been applied', () => {
  const patches = [...read('CONTRIBUTING.md').matchAll(/^git apply <<'end'\n([\s\S]*?)^end$/gm)]
  const fits = (input: string, ...more: string[]) =>
    spawnSync('git', ['apply', '--check', ...more], { cwd: root, input }).status === 0
  expect(patches.map(([, patch = '']) => fits(patch) || fits(patch, '--reverse'))).toEqual([true, true])
})

describe('the page of the folders', () => {
  const inOrder = (place: string, order: Rooms) =>
    order.flat().flatMap(room => (room === '.' ? [] : [`${place}/${room}`]))
  const folders = [...Object.entries(rooms), ...Object.entries(innerRooms)]
    .filter(([place]) => !/http|storage/.test(place))
    .flatMap(([place, order]) => inOrder(place, order))
    .filter(folder => existsSync(join(root, 'packages', folder.replace('/', '/src/'))))

  test.each(folders)('has a line for %s', folder => {
    expect(read('docs/internals/folders.md')).toMatch(new RegExp(`^\\| .*\`${folder}/\``, 'm'))
  })
})
