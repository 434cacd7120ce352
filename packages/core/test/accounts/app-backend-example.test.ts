import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Browser } from '@berth/testing/accounts/browser.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { databaseUrl } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'

const examples = join(import.meta.dirname, '..', '..', '..', '..', 'examples', 'app-backend')

/** A program of the example, as a shell runs it. */
class Program {
  readonly #child: ChildProcess
  readonly #ended: Promise<unknown[]>
  output = ''

  constructor(file: string, cwd: string, env: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, [join(examples, file)], { cwd, env: { PATH: process.env.PATH, ...env } })
    this.#ended = once(this.#child, 'close')
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text
      })
    }
  }

  /** Waits for text in the output, and returns the pattern's groups. */
  async prints(pattern: RegExp): Promise<readonly string[]> {
    const [, ...groups] = await until(`${pattern} in:\n${this.output}`, () => {
      if (this.#child.exitCode !== null && !pattern.test(this.output)) throw new Error(`it ended:\n${this.output}`)
      return pattern.exec(this.output) ?? undefined
    })
    return groups
  }

  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`)
  }

  /** Closes its input and waits for its end. */
  async ended(): Promise<number> {
    this.#child.stdin?.end()
    const [code] = await this.#ended
    return Number(code)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }
}

describe("the example of an app's backend", () => {
  let service: ServiceProcess
  let stack: AsyncDisposableStack
  let folder: string
  let person: { email: string; password: string }
  let env: Readonly<Record<string, string>>
  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-example-'))
    folder = mkdtempSync(join(tmpdir(), 'berth-my-app-'))
    stack.defer(() => {
      for (const made of [dataDir, folder]) rmSync(made, { recursive: true, force: true })
    })
    stack.defer(() => destroySandboxes(dataDir))
    const db = stack.use(await createTestDatabase())
    service = stack.use(
      await startServiceProcess({
        BERTH_DATA_DIR: dataDir,
        DATABASE_URL: databaseUrl(db),
        BERTH_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2),
        BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2),
      }),
    )
    person = JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8')).user
    env = { AUTH_URL: service.url, BASE_URL: service.url }
  })
  afterAll(() => stack.disposeAsync())

  /** Signs the person in for a program that shows a code. */
  async function connectDevice(program: Program): Promise<void> {
    const [address = '', code = ''] = await program.prints(/Open (\S+) and enter the code (\S+)\n/)
    const browser = new Browser(service.url)
    const entered = await browser.submit(await browser.get(address), { user_code: code })
    const signedIn = await browser.submit(await browser.submit(entered), { ...person })
    expect((await browser.submit(signedIn)).text).toContain('Device connected')
  }

  it('is told to register first if it has no key', async () => {
    await using backend = new Program('backend.ts', folder, env)
    expect(await backend.ended()).toBe(1)
    expect(backend.output).toBe('app-key.pem is missing. Run register.ts first.\n')
  })

  it('registers its key after a person has signed in', async () => {
    await using register = new Program('register.ts', folder, env)
    await connectDevice(register)
    expect(await register.ended()).toBe(0)
    await register.prints(/my-app has the key [\w-]{43}; its private half is in app-key.pem\n/)
    expect(statSync(join(folder, 'app-key.pem')).mode & 0o777).toBe(0o600)
  })

  it('waits for consent, runs Turns, and is refused in plain words once it is revoked', async () => {
    await using backend = new Program('backend.ts', folder, env)
    const [address = ''] = await backend.prints(/opens (\S+)\n/)
    const browser = new Browser(service.url)
    const page = await browser.submit(await browser.get(address), { ...person })
    expect(page.text).toContain('My app')
    await browser.submit(page)
    const [installationId] = await backend.prints(/Installed as (\S+)\.\n/)

    backend.send('echo one > kept')
    await backend.prints(/svc\.run\.completed\ncompleted: /)
    backend.send('cat kept; echo two')
    await backend.prints(/completed: [\s\S]*completed: [\s\S]*one\ntwo/)

    await using revoke = new Program('revoke.ts', folder, env)
    await connectDevice(revoke)
    await revoke.prints(new RegExp(`revoked ${installationId}\n`))
    backend.send('echo three')
    await backend.prints(/The organization has removed the app/)
    expect(await backend.ended()).toBe(1)
    expect(backend.output).not.toMatch(/three|BerthError|eyJ/)
  })

  it('tells that nobody approved', async () => {
    rmSync(join(folder, 'installation.json'))
    await using backend = new Program('backend.ts', folder, env)
    const [address = ''] = await backend.prints(/opens (\S+)\n/)
    const browser = new Browser(service.url)
    await browser.submit(await browser.submit(await browser.get(address), { ...person }), {}, 'deny')
    expect(await backend.ended()).toBe(1)
    await backend.prints(/Nobody approved\. Start again to ask again\./)
  })
})
