import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

// Triggers used to see to it that changes of Sessions and checkpoints are noted. A distributed PostgreSQL takes none, so every
// statement has to do it itself.

const source = join(import.meta.dirname, '../../..')

let made: TestDatabase
let texts: ReadonlyMap<string, string>
beforeAll(async () => {
  made = await createTestDatabase()
  const names = await readdir(source, { recursive: true })
  const own = names.filter(name => /^\w+\/src\/.*(?<!\.test)\.ts$/.test(name) && !name.startsWith('testing/'))
  const read = async (name: string) =>
    [name, (await readFile(join(source, name), 'utf8')).replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')] as const
  texts = new Map(await Promise.all(own.map(read)))
})
afterAll(() => made[Symbol.asyncDispose]())

/** Returns the files with a match, once for each, whose text around the match fails a check. */
function failing(pattern: RegExp, passes: (text: string, at: number, next: number) => boolean): readonly string[] {
  return [...texts].flatMap(([name, text]) => {
    const places = [...text.matchAll(pattern)].map(({ index }) => index)
    return places.flatMap((at, n) => (passes(text, at, places[n + 1] ?? text.length) ? [] : [name]))
  })
}

it('every statement that updates Sessions sets `moved_in`, but for the seal of a log, which moves nothing', () => {
  const update = /\bupdate\s+(?:only\s+)?(?:public\.)?"?sessions\b/gi
  const forgetting = failing(update, (text, at, next) => {
    const end = text.slice(at, next).search(/`|'\s*[,)]/)
    const statement = text.slice(at, end < 0 ? next : at + end)
    return /\$\{movedIn\}/.test(statement)
  })
  expect(forgetting).toEqual(['core/src/sessions/purge/seal-sql.ts'])
  expect(failing(/\bmerge\s+into\s+sessions\b/gi, () => false)).toEqual([])
})

it('every statement that changes checkpoints goes through `changeCheckpoints`, but for a purge', () => {
  const change = /\b(?:insert\s+into|update|delete\s+from|merge\s+into)\s+checkpoints\b/g
  let statements = 0
  const forgetting = failing(change, (text, at) => {
    const ownFunction = text.slice(Math.max(0, text.lastIndexOf('\n}\n', at)), at)
    statements += 1
    // `dropping` makes a statement that is passed on.
    return /changeCheckpoints\(|const dropping =/.test(ownFunction) && !/\.query\b/.test(ownFunction)
  })
  expect(forgetting).toEqual([])
  expect(statements).toBe(7)
})

it('functions of the database update neither Sessions nor checkpoints', async () => {
  const { rows } = await made.database.query<{ name: string }>(`
    select proname as name from pg_proc
    where pronamespace = 'public'::regnamespace
      and prosrc ~* '(update|into|delete from)\\s+(only\\s+)?(public\\.)?"?(sessions|checkpoints)\\M'`)
  expect(rows).toEqual([])
})
