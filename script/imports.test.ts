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

const server = 'packages/server/src'
const targets = [
  'packages/contract/src/index.ts',
  `${server}/kit/api-error.ts`,
  `${server}/settings/settings.ts`,
  `${server}/http/app.ts`,
  `${server}/http/routing/handler.ts`,
  `${server}/sessions/runs/run-sql.ts`,
  `${server}/sessions/runs/end-run.ts`,
  `${server}/sessions/leases/end-lease.ts`,
  `${server}/execution/worker.ts`,
  `${server}/storage/postgres/pool.ts`,
  'packages/server/test/support/help.ts',
]

/** Checks a repository in which only this file has content. */
function check(file: string, source: string): string[] {
  for (const [path, text] of [...targets.map(target => [target, 'export {}'] as const), [file, source] as const]) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return checkImports(root)
}

describe('checkImports allows an import', () => {
  test.each([
    [`${server}/sessions/routes.ts`, "import type { H } from '../http/routing/handler.ts'"],
    [`${server}/sessions/create.ts`, "import { e } from './runs/end-run.ts'\nimport '../kit/api-error.ts'"],
    [`${server}/sessions/runs/cancel.ts`, "import { s } from './run-sql.ts'\nimport { c } from '@berth/contract'"],
    [`${server}/sessions/runs/cancel.ts`, "import { l } from '../leases/end-lease.ts'"],
    [`${server}/sessions/leases/lease.ts`, "import { r } from '../runs/end-run.ts'"],
    [`${server}/execution/worker.ts`, "import { s } from '../sessions/runs/run-sql.ts'"],
    [`${server}/execution/worker.ts`, "import type { S } from '../settings/settings.ts'"],
    [`${server}/kit/clock.test.ts`, "import '../http/app.ts'\nimport '../../test/support/help.ts'"],
    [`${server}/run-service.ts`, "import './settings/settings.ts'\nimport './http/app.ts'\nawait using x = f()"],
    ['packages/cli/src/main.ts', "await import('@berth/server')"],
    [`${server}/kit/a.ts`, "import type { B } from './b.ts'\nimport './api-error.ts'"],
  ])('%s: %s', (file, source) => {
    if (file.endsWith('/a.ts')) check(`${server}/kit/b.ts`, "import { a } from './a.ts'")
    expect(check(file, source)).toEqual([])
  })
})

describe('checkImports refuses an import', () => {
  const order = 'the same folder or an earlier one'
  test.each([
    [`${server}/http/guard/guard.ts`, "import type { E } from '../../sessions/runs/end-run.ts'", order],
    [`${server}/http/routing/route.ts`, "import { H } from '../app.ts'", order],
    [`${server}/sessions/session/create.ts`, "export * from '../runs/end-run.ts'", order],
    [`${server}/sessions/create.ts`, "await import('../execution/worker.ts')", order],
    [`${server}/storage/postgres/pool.ts`, "import '../../sessions/runs/end-run.ts'", order],
    [`${server}/sandboxes/driver.ts`, "import '../sessions/runs/end-run.ts'", order],
    [`${server}/sessions/create.ts`, "import '../settings/settings.ts'", 'only the compositions read settings'],
    [`${server}/kit/clock.ts`, "import './none.ts'", 'no such file'],
    [`${server}/kit/clock.ts`, "import '../../test/support/help.ts'", 'does not need tests'],
    [`${server}/attic/old.ts`, "import '../kit/api-error.ts'", 'does not name this folder'],
    [`${server}/sessions/attic/old.ts`, "import '../../kit/api-error.ts'", 'does not name this folder'],
    ['packages/cli/src/main.ts', "import '../../server/src/kit/api-error.ts'", 'reached by its name'],
    ['packages/contract/src/index.ts', "import '@berth/client'", 'contract is below everything'],
    ['packages/client/src/index.ts', "import '@berth/server'", 'client knows only it'],
    [`${server}/kit/clock.ts`, "import './clock.ts'", 'a cycle'],
  ])('%s: %s', (file, source, because) => {
    expect(check(file, source)).toContainEqual(expect.stringContaining(because))
  })
})

describe('checkStatements', () => {
  const access = { runs: { writes: ['sessions/runs'], reads: ['metrics'] } }
  const statements = (folder: string, text: string) => {
    check(`${server}/${folder}/queries.ts`, `export const text = ${text}`)
    return checkStatements(root, access)
  }

  test.each([
    ['sessions/runs', "'update runs set status = $1'"],
    ['sessions/runs/inner', "'delete from runs'"],
    ['metrics', "'select count(*) from runs'"],
    ['identity', "'select id from people'"],
  ])('allows the folder %s to say %s', (folder, text) => {
    expect(statements(folder, text)).toEqual([])
  })

  test.each([
    ['metrics', "'update runs set status = $1'", 'writes runs'],
    ['metrics', '`delete from runs where id = $' + '{1}`', 'writes runs'],
    ['identity', '`select $' + '{1} from sessions join runs using (id)`', 'reads runs'],
    ['identity', "'insert into runs select 1'", 'writes runs'],
  ])('does not allow the folder %s to say %s', (folder, text, because) => {
    expect(statements(folder, text)).toEqual([expect.stringContaining(because)])
  })

  test('refuses a table that the list does not name', () => {
    const file = `${server}/storage/migrations/0001_new.sql`
    check(file, 'create table novelties (id uuid)')
    expect(checkStatements(root, access)).toEqual([expect.stringContaining('novelties')])
  })
})
