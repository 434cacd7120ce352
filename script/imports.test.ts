import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkImports } from './imports/check.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-imports-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const targets = [
  'packages/contract/src/index.ts',
  'packages/server/src/api-error.ts',
  'packages/server/src/settings.ts',
  'packages/server/src/http/app.ts',
  'packages/server/src/http/handler.ts',
  'packages/server/src/runs/run-sql.ts',
  'packages/server/src/runs/end-run.ts',
  'packages/server/src/execution/worker.ts',
  'packages/server/src/storage/pool.ts',
  'packages/server/test/support/help.ts',
]

/** Checks a repository of empty files but for one. */
function check(file: string, source: string): string[] {
  for (const [path, text] of [...targets.map(target => [target, 'export {}'] as const), [file, source] as const]) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return checkImports(root)
}

describe('allowed', () => {
  test.each([
    ['packages/server/src/sessions/routes.ts', "import type { H } from '../http/handler.ts'"],
    ['packages/server/src/sessions/create.ts', "import { e } from '../runs/end-run.ts'\nimport '../api-error.ts'"],
    ['packages/server/src/runs/cancel.ts', "import { s } from './run-sql.ts'\nimport { c } from '@berth/contract'"],
    ['packages/server/src/http/app.ts', "import { s } from '../runs/end-run.ts'"],
    ['packages/server/src/execution/worker.ts', "import { s } from '../runs/run-sql.ts'"],
    ['packages/server/src/execution/worker.ts', "import type { S } from '../settings.ts'"],
    ['packages/server/src/runs/end-run.test.ts', "import '../http/app.ts'\nimport '../../test/support/help.ts'"],
    ['packages/server/src/main.ts', "import './settings.ts'\nimport './http/app.ts'\nawait using x = f()"],
    ['packages/cli/src/main.ts', "await import('@berth/server')"],
    ['packages/server/src/a.ts', "import type { B } from './b.ts'\nimport './api-error.ts'"],
  ])('%s: %s', (file, source) => {
    if (file.endsWith('/a.ts')) check('packages/server/src/b.ts', "import { a } from './a.ts'")
    expect(check(file, source)).toEqual([])
  })
})

describe('forbidden', () => {
  test.each([
    ['packages/server/src/sessions/create.ts', "import type { H } from '../http/handler.ts'", 'never imports http'],
    ['packages/server/src/sessions/routes.ts', "import { H } from '../http/handler.ts'", 'never imports http'],
    ['packages/server/src/sessions/routes.ts', "export * from '../http/app.ts'", 'never imports http'],
    ['packages/server/src/sessions/create.ts', "import type { S } from '../runs/run-sql.ts'", 'statements are its own'],
    ['packages/server/src/sessions/create.ts', "await import('../execution/worker.ts')", 'not the other way round'],
    ['packages/server/src/sessions/create.ts', "import '../settings.ts'", 'only the composition reads settings'],
    ['packages/server/src/storage/pool.ts', "import '../runs/end-run.ts'", 'storage knows no layer above it'],
    ['packages/server/src/sandboxes/driver.ts', "import '../runs/end-run.ts'", 'knows no domain'],
    ['packages/server/src/runs/end-run.ts', "import './none.ts'", 'no such file'],
    ['packages/server/src/runs/end-run.ts', "import '../../test/support/help.ts'", 'does not need tests'],
    ['packages/cli/src/main.ts', "import '../../server/src/api-error.ts'", 'reached by its name'],
    ['packages/contract/src/index.ts', "import '@berth/client'", 'contract is below everything'],
    ['packages/client/src/index.ts', "import '@berth/server'", 'client knows only it'],
    ['packages/server/src/runs/end-run.ts', "import './end-run.ts'", 'a cycle'],
  ])('%s: %s', (file, source, because) => {
    expect(check(file, source)).toEqual([expect.stringContaining(because)])
  })
})
