import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { berthLines, berthSpans, commandBlocks, pagesWithCommands } from './docs/command-blocks.ts'
import { berthFaults } from './testing/berth-faults.ts'

const root = join(import.meta.dirname, '..')
const pages = 'packages/server/test/operations/pages.test.ts'
const environments = 'packages/cli/test/env-apply.test.ts'
const apps = 'packages/core/test/accounts/apps-page.test.ts'
const triggers = 'packages/triggers/test/github-events.test.ts'
const upgrade = 'packages/server/test/operations/killed-migrations.test.ts'

/** Why no test runs a block as it stands. */
const not = {
  person: 'a person has to sign in with a browser first',
  internet: 'it gets something from the Internet',
  model: 'it takes a model',
  elsewhere: 'it names machines, accounts or clusters of the reader',
  settings: 'it is settings or a form of a command',
  root: 'it installs packages of the system',
  server: 'script/server starts for ever; script/scripts.test.ts starts it',
  ends: 'it ends the service or its sandboxes; packages/sandboxes/test/down.test.ts calls it',
  removes: 'it removes the data of the service',
  inside: 'it is a line of a setup script',
  programs: 'app-backend-example.test.ts starts the same programs, with another service',
  reviewed: 'it takes a reviewed change; packages/cli/test/delivery.test.ts has its commands',
  image: 'it builds an image, which takes minutes; script/test-image runs its commands',
  compose: 'it takes Docker and a registry of images; script/compose.test.ts checks the files',
  statement: 'it takes a signed statement; packages/cli/test/verify.test.ts has its commands',
  revokes: 'it revokes a key of the service',
  backup: "it takes PostgreSQL's client programs and an owner of the database",
} as const

/** Of each page's blocks, in their order, the test that runs it, or why none does. */
const shown: Readonly<Record<string, readonly string[]>> = {
  'README.md': [pages, pages, pages, environments],
  'docs/accounts.md': [not.person, not.elsewhere],
  'docs/apps.md': [apps, apps, apps, apps, apps, apps],
  'docs/benchmarks.md': [not.model],
  'docs/ci.md': [not.model, pages],
  'docs/cli.md': [not.settings, not.person, not.person, not.person],
  'docs/environments.md': [
    environments,
    environments,
    environments,
    environments,
    environments,
    environments,
    not.inside,
    not.reviewed,
  ],
  'docs/evidence.md': [not.statement, not.statement, not.revokes],
  'docs/extensions.md': [pages, pages],
  'docs/follow-through.md': [not.reviewed, not.reviewed],
  'docs/quickstart.md': [not.server, pages, pages, pages, pages, not.model, not.internet, not.removes],
  'docs/gateway.md': [pages],
  'docs/git-hosts.md': [pages, pages],
  'docs/hosts-kubernetes.md': [not.elsewhere, not.elsewhere, not.elsewhere, not.settings],
  'docs/hosts-oci.md': [not.root],
  'docs/hosts.md': [not.elsewhere, not.elsewhere, not.person, not.settings],
  'docs/install-image.md': [not.image, not.image, not.elsewhere, not.elsewhere, not.compose],
  'docs/operations.md': [not.root, pages, not.settings, not.settings, not.ends],
  'docs/production.md': [not.backup, upgrade, not.backup, not.elsewhere],
  'docs/runtimes.md': [not.elsewhere],
  'docs/transcription.md': [not.root],
  'docs/triggers.md': [triggers, triggers, triggers, triggers, triggers],
  'docs/troubleshooting.md': [pages],
  'docs/webhooks.md': [not.elsewhere, not.person, not.person, not.person],
  'examples/app-backend/README.md': [not.programs, not.programs, not.programs],
  'packages/client/README.md': [not.internet],
}

describe.each(pagesWithCommands(root))('%s', page => {
  it('has only commands that a test runs, or that say why none does', () => {
    const blocks = commandBlocks(root, page)
    const by = shown[page] ?? []
    expect(by, 'say in `shown` how each block of the page is shown').toHaveLength(blocks.length)
    for (const path of by.filter(each => each.endsWith('.test.ts'))) {
      expect(existsSync(join(root, path)), path).toBe(true)
      const test = readFileSync(join(root, path), 'utf8')
      expect(test.includes(dirname(page) === '.' ? page : basename(page)), path).toBe(true)
    }
  })

  it('has only commands of berth that the command line takes', () => {
    expect(berthLines(root, page).map(line => [line, berthFaults(line)])).toEqual(
      berthLines(root, page).map(line => [line, []]),
    )
  })

  it('calls commands and options of berth by names that they have', () => {
    const faults = berthSpans(root, page).map(span => [span, namingFaults(span)])
    expect(faults.filter(([, each]) => each?.length !== 0)).toEqual([])
  })
})

/** Prose names a command or an option without the words that it needs. */
function namingFaults(span: string): readonly string[] {
  try {
    return berthFaults(span).filter(fault => !fault.startsWith('needs '))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'commander.optionMissingArgument') return []
    throw error
  }
}
