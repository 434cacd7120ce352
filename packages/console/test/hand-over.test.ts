import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Accounts, startAccounts } from '@berth/testing/accounts/accounts.ts'
import { Browser as WebBrowser } from '@berth/testing/accounts/browser.ts'
import type { SignedIn } from '@berth/testing/accounts/signer.ts'
import { openVisitor, type Visitor } from '@berth/testing/browser/visitor.ts'
import { password, personWithPassword } from '@berth/testing/console/console-page.ts'
import { openSignedIn } from '@berth/testing/console/signed-in.ts'
import { Delivering } from '@berth/testing/git/delivering.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { spawn } from '../../../script/testing/spawn.ts'

const run = promisify(execFile)
/** Where npm puts `berth`, which runs the bundle as it was built. */
const programs = fileURLToPath(new URL('../../../node_modules/.bin', import.meta.url))

const stack = new AsyncDisposableStack()
let accounts: Accounts
let at: Delivering
let gitDir: string
let home: string
let person: SignedIn
let env: Readonly<Record<string, string>>
let visitor: Visitor
let page: Page
beforeAll(async () => {
  accounts = stack.use(await startAccounts({ variables: { BERTH_ROLES: 'api,account,gateway,worker' } }))
  const { test } = accounts
  const repository = await localRepository(test, 'sample/handed-over')
  gitDir = repository.gitDir
  at = await Delivering.begin(test, repository)
  home = await mkdtemp(join(tmpdir(), 'berth-hand-over-'))
  stack.defer(() => rm(home, { recursive: true }))
  env = { PATH: `${programs}${delimiter}${process.env.PATH ?? ''}`, HOME: home }
  person = await personWithPassword(test.db.database, test.tenant.organizationId)
  visitor = await openVisitor(stack)
  page = visitor.page
  await visitor.context.grantPermissions(['clipboard-write'])
  await openSignedIn(page, `${test.url}/sessions/${at.session.id}?panel=details`, person)
})
afterAll(() => stack.disposeAsync())

/** Copies a command from the page. @returns the clipboard's text */
async function copied(name: string): Promise<string> {
  await page.getByRole('button', { name: `Copy the command ${name}` }).click()
  await page.getByRole('status').getByText(`Copied the command ${name}.`).waitFor()
  const box = page.getByLabel('Message to the agent')
  await box.fill('')
  await box.press('Control+v')
  const command = await box.inputValue()
  await box.fill('')
  return command
}

/** A command that a shell runs, whose output can be waited for. */
function started(program: string, ...args: readonly string[]) {
  const child = spawn(program, args, { cwd: home, env })
  const ended = once(child, 'close')
  let output = ''
  let reload = () => {}
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      reload()
    })
  }
  return {
    type: (text: string) => child.stdin.write(text),
    shows: (text: string) =>
      new Promise<void>((resolve, reject) => {
        reload = () => output.includes(text) && resolve()
        void ended.then(() => reject(new Error(`it ended without ${text}: ${output}`)))
        reload()
      }),
    async code(): Promise<number | null> {
      const [code] = await ended
      return code as number | null
    },
    get output() {
      return output
    },
  }
}

describe('a command that the page hands over', () => {
  it('signs a person in at their terminal', async () => {
    const login = started('sh', '-c', await copied('to sign in'))
    await login.shows('Waiting for')
    const [, address = ''] = /^ {2}(http\S+)$/m.exec(login.output) ?? []
    const web = new WebBrowser(accounts.test.url)
    const answer = await web.submit(await web.get(address), { email: person.email, password })
    await fetch((await web.submit(answer, {}, 'continue')).url)
    expect([await login.code(), login.output]).toEqual([0, expect.anything()])
  })

  it('follows the agent in a terminal, and opens a shell beside it', async () => {
    const waiting = 'echo it be""gins; until test -e released; do sleep 0.1; done; echo it en""ds'
    await at.api.submitTurn(at.session.id, `cd /workspace\n${waiting}`)
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    const attached = started('sh', '-c', await copied('to attach'))
    await attached.shows('until test -e released')
    const shell = started('script', '-qec', await copied('to open a shell in the sandbox'), '/dev/null')
    await shell.shows('$ ')
    shell.type('cd /workspace; id -un; echo "Bonne nuit" > project/night.txt; touch released; exit 7\r')
    expect(await shell.code()).toBe(7)
    expect(shell.output).toMatch(/^agent\r?$/m)
    expect([await attached.code(), attached.output]).toEqual([0, expect.stringContaining('it ends')])
  })

  it('brings into a checkout what was published', async () => {
    const { result } = await at.publish()
    expect(result).toBeDefined()
    await page.reload()
    const command = await copied('to check out the branch')
    const checkout = join(home, 'checkout')
    await run('git', ['clone', '-q', gitDir, checkout], { env })
    await run('sh', ['-c', command], { cwd: checkout, env })
    expect(await readFile(join(checkout, 'night.txt'), 'utf8')).toBe('Bonne nuit\n')
    const { stdout } = await run('git', ['rev-parse', 'HEAD'], { cwd: checkout, env })
    expect(stdout.trim()).toBe(result?.commitSha)
  })

  it('never met the policy of the page', () => {
    expect(visitor.complaints).toEqual([])
  })
})
