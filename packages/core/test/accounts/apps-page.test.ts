import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser } from '@berth/testing/accounts/browser.ts'
import { signInPerson } from '@berth/testing/accounts/signer.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../src/accounts/people/password.ts'

const root = join(import.meta.dirname, '..', '..', '..', '..')
const page = readFileSync(join(root, 'docs', 'apps.md'), 'utf8')

/** Returns the code blocks below a heading, of one language. */
function blocks(heading: string, language: string): string {
  const [, section] = page.split(`## ${heading}\n`)
  if (section === undefined) throw new Error(`docs/apps.md has no heading ${heading}`)
  const [text = ''] = section.split('\n## ')
  const found = [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))]
  if (found.length === 0) throw new Error(`docs/apps.md has no ${language} below ${heading}`)
  return found.map(([, code = '']) => code).join('\n')
}

let accounts: Accounts
let folder: string
let env: Record<string, string>
beforeAll(async () => {
  accounts = await startAccounts()
  folder = mkdtempSync(join(tmpdir(), 'berth-apps-page-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { who, api } = await accounts.person({ role: 'admin' })
  env = { AUTH: accounts.test.url, BASE: accounts.test.url, PERSON: api.key, ORG: who.organizationId }
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await accounts[Symbol.asyncDispose]()
})

/** Runs commands in one folder, each call with the variables that the calls before it have set. */
async function run(commands: string): Promise<string> {
  const kept = join(folder, 'variables')
  const script = `set -aeuo pipefail\n${commands}\nenv -0 >${kept}`
  const path = { PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env: { ...env, ...path } })
  for (const line of readFileSync(kept, 'utf8').split('\0')) {
    const [name = ''] = line.split('=', 1)
    if (name !== '') env[name] = line.slice(name.length + 1)
  }
  return stdout
}

describe('the commands of docs/apps.md', () => {
  it('lead from a key to a token of an installation', async () => {
    expect(await run(blocks('1. Create the app and register a key', 'sh'))).toContain('"success":true')
    writeFileSync(join(folder, 'assertion.mjs'), blocks('2. Sign an assertion', 'js'))
    await run(blocks('2. Sign an assertion', 'sh'))
    const [ask = '', read = ''] = blocks('3. Ask for an installation', 'sh').split(/\n(?=INTENT=.*\/status)/)
    const authorizeUrl = (await run(ask)).trim()

    const person = await signInPerson(accounts.test.db.database, env['ORG'] ?? '', { role: 'admin' })
    const password = 'correct horse battery'
    await accounts.test.db.database.query('update people set password_hash = $2 where id = $1', [
      person.personId,
      await hashPassword(password),
    ])
    const browser = new Browser(accounts.test.url)
    const consent = await browser.submit(await browser.get(authorizeUrl), { email: person.email, password })
    const { url } = await browser.submit(consent)
    expect(url).toBe('https://my-app.example/installed?state=any%20text%20of%20yours')

    await run(read)
    expect(JSON.parse(await run(blocks('4. Get a token', 'sh')))).toMatchObject({ sessions: [], hasMore: false })
  })

  it('lead from an integration to a key that works', async () => {
    expect(JSON.parse(await run(blocks('Use API keys instead', 'sh')))).toMatchObject({ sessions: [], hasMore: false })
  })
})
