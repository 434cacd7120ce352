import { randomUUID } from 'node:crypto'
import type { Environment } from '@berth/contract'
import { uploadTo } from '@berth/testing/environments/archives.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { extensionOf, sha256Of } from '@berth/testing/environments/zip.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
let mine: Environments
beforeAll(async () => {
  test = await startTestService({ variables: { BERTH_ROLES: 'api' } })
  mine = new Environments(test.api)
})
afterAll(() => test[Symbol.asyncDispose]())

const paths = ({ warnings }: Environment) => warnings.map(({ path }) => path.join('.'))
const lines = (count: number, first = 'true') => `${[first, ...Array(count - 1).fill('true')].join('\n')}\n`

describe('a variable', () => {
  it.each([
    ['DEPLOY_TOKEN', 'x'],
    ['api_key', 'x'],
    ['DB_PASSWORD', 'x'],
    ['GH', 'ghp_abcdefghijklmnopqrst'],
    ['KEY', '-----BEGIN OPENSSH PRIVATE KEY-----\nx'],
    ['URL', 'postgres://me:secret@db.example/app'],
  ])('%s looks like a credential with the value %s', async (name, value) => {
    const made = await mine.make({ variables: { [name]: value } })
    expect(made.warnings).toEqual([
      { path: ['document', 'variables', name], message: expect.stringContaining('looks like a credential') },
    ])
  })

  it.each([
    ['DEPLOY_TOKEN', ''],
    ['TOKENIZER', 'bpe'],
    ['MONKEY', 'x'],
    ['URL', 'https://example.com/a@b'],
  ])('%s does not look like one with the value %j', async (name, value) => {
    expect((await mine.make({ variables: { [name]: value } })).warnings).toEqual([])
  })

  it('that a runtime sets is named with the runtime, and so is a secret', async () => {
    const made = await mine.make({ variables: { MODEL_PROVIDER: 'x', GEMINI_SETTINGS: '{}', GOOSE_MODE: 'x' } })
    expect(made.warnings).toMatchObject([
      { path: ['document', 'variables', 'GEMINI_SETTINGS'], message: expect.stringContaining('the runtime gemini') },
      { path: ['document', 'variables', 'GOOSE_MODE'], message: expect.stringContaining('may read or set') },
      { path: ['document', 'variables', 'MODEL_PROVIDER'], message: expect.stringContaining('the runtime codex') },
    ])
    const written = await mine.writeSecret(made.id, 'ANTHROPIC_API_KEY', 'a long value', 1)
    expect(paths(written.body.environment)).toContain('secrets.ANTHROPIC_API_KEY')
  })
})

describe('a setup script', () => {
  it.each([
    [lines(20), []],
    [lines(21), ['document.setup']],
    [lines(30, 'set -e'), []],
    [lines(30, 'set -euo pipefail'), []],
    [lines(30, 'set -u -e'), []],
    [lines(30, 'set -o errexit'), []],
    [lines(30, '# set -e'), ['document.setup']],
    ['true\r\n', ['document.setup']],
  ])('%j is warned of at %j', async (setup, expected) => {
    expect(paths(await mine.make({ setup }))).toEqual(expected)
  })
})

describe('an archive', () => {
  it.each([
    ['nothing', {}, ['README.md', 'skills/notes.txt'], true],
    ['a skill', {}, ['skills/review/SKILL.md'], false],
    ['a skill elsewhere', { contributes: { skills: ['./one/'] } }, ['one/SKILL.md'], false],
    ['a skill where nobody looks', { contributes: { skills: ['one'] } }, ['skills/review/SKILL.md'], true],
    ['a command', {}, ['commands/deploy.md'], false],
    ['a file of servers', {}, ['.mcp.json'], false],
    ['a server in its manifest', { contributes: { mcpServers: { files: { command: 'serve' } } } }, [], false],
    ['no server in its manifest', { contributes: { mcpServers: {} } }, ['mcp.json'], true],
  ])('with %s is warned of if no runtime gets anything of it', async (name, more, files, warned) => {
    const entries = files.map(file => ({ name: file, content: '{}' }))
    const content = extensionOf({ name, ...more }, entries)
    const { id, document } = await mine.make()
    expect((await uploadTo(test.api, id, sha256Of(content), content)).status).toBe(201)
    const extensions = [{ archive: `sha256:${sha256Of(content)}` }]
    const { environment } = (await mine.put(id, { ...document, extensions }, 1)).body
    expect(paths(environment)).toEqual(warned ? ['document.extensions.0'] : [])
  })
})

describe('a repository', () => {
  it('is warned of while no grant of the organization covers it', async () => {
    const repositories = ['acme/Tools', 'whole/anything', 'acme/other'].map(repository => ({ repository }))
    const { id } = await mine.make({ github: true, repositories })
    const warned = async () => paths((await mine.read(id)).body.environment)
    const all = [0, 1, 2].map(index => `document.repositories.${index}`)
    expect(await warned()).toEqual(all)
    const foreign = (await test.newTenant()).tenant
    for (const { organizationId, installationId } of [foreign, test.tenant]) {
      // Another organization's grants cover nothing here.
      expect(await warned()).toEqual(all)
      await grant({ organizationId, installationId }, 'whole', null)
      await grant({ organizationId, installationId }, 'Acme', 'acme/tools')
    }
    expect(await warned()).toEqual(['document.repositories.2'])
    expect((await mine.list()).body.environments.find(each => each.id === id)?.warnings).toHaveLength(1)
    await test.db.database.query('update repository_grants set revoked_at = now()')
    await test.db.database.query("update host_connections set revoked_at = now() where account_login = 'whole'")
    expect(await warned()).toEqual(all)
  })
})

/** Connects an account: one repository of it, or all of them. */
async function grant(
  { organizationId, installationId }: { readonly organizationId: string; readonly installationId: string },
  login: string,
  fullName: string | null,
): Promise<void> {
  const id = randomUUID()
  await test.db.database.query(
    `insert into host_connections
       (id, organization_id, installation_id, host, provider, account, account_login, whole, created_at)
     values ($1, $2, $3, 'github', 'github', $4, $4, $5, now())`,
    [id, organizationId, installationId, login, fullName === null],
  )
  if (fullName === null) return
  await test.db.database.query(
    `insert into repository_grants (id, connection_id, organization_id, installation_id, repository_id, full_name,
       created_at)
     values (gen_random_uuid(), $1, $2, $3, '1', $4, now())`,
    [id, organizationId, installationId, fullName],
  )
}
