import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
afterAll(() => rmSync(cwd, { recursive: true }))

const admin = (...args: string[]) => new BerthProcess(['admin', ...args], { cwd })

test("every operator's command appears in the help", async () => {
  const it = admin('--help')
  expect(await it.ended()).toBe(0)
  for (const name of [
    'bootstrap',
    'organization',
    'person',
    'member',
    'rate',
    'usage',
    'budget',
    'quota',
    'grant',
    'rule',
    'check',
  ])
    expect(it.stdout).toContain(`\n  ${name}`)
  const add = admin('grant', 'add', '--help')
  expect(await add.ended()).toBe(0)
  expect(add.stdout).toMatch(/--account <id>[\s\S]*--repository <owner\/name>/)
})

test.each([
  [['grant', 'add'], /name either an installation or --organization/],
  [['grant', 'add', 'a', '--organization', 'b'], /name either an installation or --organization/],
  [['check', 'record', 'a/b', 'c', 'tests', 'passed'], /Allowed choices are pending, success, failure/],
  [['bootstrap', '--email', 'a@b'], /required option '--organization <name>' not specified/],
  [['bootstrap', '--email', 'nobody', '--organization', 'A'], /^berth: "nobody" is no email\n$/],
  [['rate', 'x', '--burst', '5'], /name --burst and --per-minute, or --default alone/],
  [['rule', 'set', 'a/b'], /missing required argument 'branch'/],
  [['grant', 'list'], /^berth: no service runs on .*; start it, or name the database with DATABASE_URL\n$/],
])('%j is refused with the reason', async (args, reason) => {
  const it = admin(...args)
  expect(await it.ended()).toBe(2)
  expect(it.stderr).toMatch(reason)
})
