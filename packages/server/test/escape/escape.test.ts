import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callProbes, callScript } from './call-probes.ts'
import { scriptProbes } from './file-probes.ts'

interface Ran {
  readonly code: number | string
  readonly out: string
}

/** An ordinary user, whom the machine need not know. */
const USER = 54_321
const privileged = process.getuid?.() === 0

/** A sandbox of a service that runs as some user, in a process of its own. */
class SandboxHost {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  bounds: readonly string[] = []

  constructor(dataDir: string, user: number | undefined) {
    const command = [process.execPath, join(import.meta.dirname, 'sandbox-host.ts'), dataDir]
    const id = String(user)
    const [program = '', ...args] =
      user === undefined ? command : ['setpriv', '--reuid', id, '--regid', id, '--clear-groups', ...command]
    this.#child = spawn(program, args, { env: { ...process.env, BERTH_TEST_CANARY: 'canary' } })
    this.#child.stderr.pipe(process.stderr)
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async opened(): Promise<this> {
    this.bounds = JSON.parse(await this.#line())
    return this
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  async run(script: string): Promise<Ran> {
    this.#child.stdin.write(`${JSON.stringify(script)}\n`)
    return JSON.parse(await this.#line())
  }

  async close(): Promise<void> {
    this.#child.stdin.end()
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit')
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('the host of the sandbox has ended')
    return value
  }
}

/** An ELF program of 133 bytes for x64 that asks the 32-bit kernel for its process id and ends well. */
function int80Program(): string {
  const code = Buffer.from('b814000000cd80b83c00000031ff0f05', 'hex')
  const base = 0x40_0000n
  const size = 64 + 56 + code.length
  const elf = Buffer.alloc(size)
  Buffer.from('7f454c46020101', 'hex').copy(elf)
  elf.writeUInt16LE(2, 16)
  elf.writeUInt16LE(62, 18)
  elf.writeUInt32LE(1, 20)
  elf.writeBigUInt64LE(base + 120n, 24)
  elf.writeBigUInt64LE(64n, 32)
  elf.writeUInt16LE(64, 52)
  elf.writeUInt16LE(56, 54)
  elf.writeUInt16LE(1, 56)
  elf.writeUInt32LE(1, 64)
  elf.writeUInt32LE(5, 68)
  elf.writeBigUInt64LE(base, 80)
  elf.writeBigUInt64LE(base, 88)
  elf.writeBigUInt64LE(BigInt(size), 96)
  elf.writeBigUInt64LE(BigInt(size), 104)
  elf.writeBigUInt64LE(4096n, 112)
  code.copy(elf, 120)
  return elf.toString('base64')
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const modes = [
  ...(privileged ? [{ mode: 'of a service that runs as root', user: undefined }] : []),
  { mode: 'of a service that runs as an ordinary user', user: privileged ? USER : process.getuid?.() },
]

describe.each(modes)('a sandbox $mode', ({ user }) => {
  const asRoot = user === undefined
  let dataDir: string
  let host: SandboxHost
  let abstract: Server
  let answers: ReadonlyMap<number, number>
  let prelude: string

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'berth-escape-'))
    if (user !== undefined && privileged) await chown(dataDir, user, user)
    abstract = createServer(socket => socket.destroy()).listen(`\0berth-escape-${process.pid}`)
    await once(abstract, 'listening')
    host = await new SandboxHost(dataDir, user).opened()
    prelude = [
      'supervisor=$(pgrep -x berth-superviso)',
      `host=${host.pid}`,
      `export abstract=berth-escape-${process.pid}`,
      `int80=${int80Program()}`,
      '',
    ].join('\n')
    const { out } = await host.run(`perl -e ${quoted(callScript(callProbes))}`)
    answers = new Map(
      out
        .split('\n')
        .flatMap(line => (/^\d+ \d+$/.test(line) ? [line.split(' ').map(Number) as [number, number]] : [])),
    )
  }, 60_000)
  afterAll(async () => {
    await host.close()
    abstract.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  describe('is refused the system call', () => {
    it.each(callProbes.map((probe, at) => ({ ...probe, at })))('$name', ({ x64, arm64, errors, at }) => {
      const lacks = (process.arch === 'x64' ? x64 : arm64) === null
      const allowed = (lacks ? ['ENOSYS'] : errors).map(name => constants.errno[name as keyof typeof constants.errno])
      expect(allowed).toContain(answers.get(at))
    })
  })

  describe('is closed to', () => {
    it.each(scriptProbes.filter(probe => asRoot || !probe.onlyAsRoot))('$name', async ({ script, says }) => {
      const { out } = await host.run(prelude + script)
      if (typeof says === 'string') expect(out.trim()).toBe(says)
      else expect(out.trim()).toMatch(says)
    })
  })
})
