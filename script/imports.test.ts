import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkImports } from './imports/check.ts'
import { checkStatements } from './imports/statements.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-imports-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const platform = 'packages/platform/src'
const core = 'packages/core/src'
const worker = 'packages/worker/src'
const server = 'packages/server/src'
const targets = [
  'packages/contract/src/index.ts',
  `${platform}/kit/api-error.ts`,
  `${platform}/settings/settings.ts`,
  `${platform}/storage/postgres/pool.ts`,
  `${core}/http/app.ts`,
  `${core}/http/routing/handler.ts`,
  `${core}/sessions/runs/run-sql.ts`,
  `${core}/sessions/runs/end-run.ts`,
  `${core}/sessions/leases/end-lease.ts`,
  `${core}/testing/help.ts`,
  `${worker}/worker.ts`,
]

/** The manifests, by package: what its sources may import, and what its tests may besides. */
const manifests = {
  contract: [[], []],
  client: [['contract'], []],
  platform: [['contract'], ['testing']],
  core: [
    ['contract', 'platform'],
    ['testing', 'worker'],
  ],
  worker: [['contract', 'core', 'platform'], []],
  server: [['core', 'platform', 'worker'], []],
  cli: [['contract'], []],
} as const
const named = (names: readonly string[]) => Object.fromEntries(names.map(name => [`@berth/${name}`, '*']))

/** Checks a repository in which only this file has content. */
function check(file: string, source: string): string[] {
  for (const [path, text] of [...targets.map(target => [target, 'export {}'] as const), [file, source] as const]) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  for (const [name, [dependencies, devDependencies]] of Object.entries(manifests)) {
    mkdirSync(join(root, 'packages', name), { recursive: true })
    const manifest = { dependencies: named(dependencies), devDependencies: named(devDependencies) }
    writeFileSync(join(root, 'packages', name, 'package.json'), JSON.stringify(manifest))
  }
  return checkImports(root)
}

describe('checkImports allows an import', () => {
  test.each([
    [`${core}/sessions/routes.ts`, "import type { H } from '../http/routing/handler.ts'"],
    [`${core}/sessions/create.ts`, "import { e } from './runs/end-run.ts'\nimport '@berth/platform/kit/api-error.ts'"],
    [`${core}/sessions/runs/cancel.ts`, "import { s } from './run-sql.ts'\nimport { c } from '@berth/contract'"],
    [`${core}/sessions/runs/cancel.ts`, "import { l } from '../leases/end-lease.ts'"],
    [`${core}/sessions/leases/lease.ts`, "import { r } from '../runs/end-run.ts'"],
    [`${worker}/worker.ts`, "import { s } from '@berth/core/sessions/runs/run-sql.ts'"],
    [`${worker}/worker.ts`, "import type { S } from '@berth/platform/settings/settings.ts'"],
    [
      `${core}/git/clock.test.ts`,
      "import '../http/app.ts'\nimport '@berth/testing/help.ts'\nimport '@berth/worker/a.ts'",
    ],
    [`${server}/run-service.ts`, "import '@berth/platform/settings/settings.ts'\nawait using x = f()"],
    [`${platform}/kit/a.ts`, "import type { B } from './b.ts'\nimport './api-error.ts'"],
  ])('%s: %s', (file, source) => {
    if (file.endsWith('/a.ts')) check(`${platform}/kit/b.ts`, "import { a } from './a.ts'")
    expect(check(file, source)).toEqual([])
  })
})

describe('checkImports refuses an import', () => {
  const order = 'the same folder or an earlier one'
  const unnamed = 'does not name that package'
  test.each([
    [`${core}/http/guard/guard.ts`, "import type { E } from '../../sessions/runs/end-run.ts'", order],
    [`${core}/http/routing/route.ts`, "import { H } from '../app.ts'", order],
    [`${core}/sessions/session/create.ts`, "export * from '../runs/end-run.ts'", order],
    [`${core}/sessions/create.ts`, "await import('@berth/worker/worker.ts')", unnamed],
    [`${platform}/storage/postgres/pool.ts`, "import '@berth/core/sessions/runs/end-run.ts'", unnamed],
    ['packages/client/src/index.ts', "import '@berth/server/serve.ts'", unnamed],
    ['packages/contract/src/index.ts', "import type { C } from '@berth/client'", unnamed],
    [
      `${core}/sessions/create.ts`,
      "import '@berth/platform/settings/settings.ts'",
      'only the compositions read settings',
    ],
    [`${platform}/kit/clock.ts`, "import './none.ts'", 'no such file'],
    [`${core}/git/clock.ts`, "import '../testing/help.ts'", 'does not need tests'],
    [`${core}/git/clock.ts`, "import '@berth/testing/help.ts'", 'does not need tests'],
    [`${core}/attic/old.ts`, "import '@berth/platform/kit/api-error.ts'", 'does not name this folder'],
    [`${core}/sessions/attic/old.ts`, "import '@berth/platform/kit/api-error.ts'", 'does not name this folder'],
    ['packages/cli/src/main.ts', "import '../../core/src/http/app.ts'", 'reached by its name'],
    [`${platform}/kit/clock.ts`, "import './clock.ts'", 'a cycle'],
  ])('%s: %s', (file, source, because) => {
    expect(check(file, source)).toContainEqual(expect.stringContaining(because))
  })
})

describe('checkStatements', () => {
  const access = { runs: { writes: ['core/sessions/runs'], reads: ['platform/metrics'] } }
  const statements = (folder: string, text: string) => {
    check(`packages/${folder.replace('/', '/src/')}/queries.ts`, `export const text = ${text}`)
    return checkStatements(root, access)
  }

  test.each([
    ['core/sessions/runs', "'update runs set status = $1'"],
    ['core/sessions/runs/inner', "'delete from runs'"],
    ['platform/metrics', "'select count(*) from runs'"],
    ['core/identity', "'select id from people'"],
  ])('allows the folder %s to say %s', (folder, text) => {
    expect(statements(folder, text)).toEqual([])
  })

  test.each([
    ['platform/metrics', "'update runs set status = $1'", 'writes runs'],
    ['platform/metrics', '`delete from runs where id = $' + '{1}`', 'writes runs'],
    ['core/identity', '`select $' + '{1} from sessions join runs using (id)`', 'reads runs'],
    ['core/identity', "'insert into runs select 1'", 'writes runs'],
  ])('does not allow the folder %s to say %s', (folder, text, because) => {
    expect(statements(folder, text)).toEqual([expect.stringContaining(because)])
  })

  test('refuses a table that the list does not name', () => {
    const file = `${platform}/storage/migrations/0001_new.sql`
    check(file, 'create table novelties (id uuid)')
    expect(checkStatements(root, access)).toEqual([expect.stringContaining('novelties')])
  })
})
