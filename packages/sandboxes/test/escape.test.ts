import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { constants } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callProbes, callScript } from './call-probes.ts'
import { scriptProbes } from './script-probes.ts'
import { modes, StartedSandbox } from './started-sandbox.ts'

/** An ELF program of 133 bytes for x64 that asks the 32-bit kernel interface for its pid and exits with 0. */
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

describe.each(modes)('a sandbox $mode', ({ user }) => {
  const asRoot = user === undefined
  let sandbox: StartedSandbox
  let abstract: Server
  let answers: ReadonlyMap<number, number>
  let prelude: string

  beforeAll(async () => {
    abstract = createServer(socket => socket.destroy()).listen(`\0berth-escape-${process.pid}`)
    await once(abstract, 'listening')
    sandbox = await StartedSandbox.start(user)
    prelude = [
      'supervisor=$(pgrep -x berth-superviso)',
      `host=${sandbox.servicePid}`,
      `export abstract=berth-escape-${process.pid}`,
      `int80=${int80Program()}`,
      '',
    ].join('\n')
    const { out } = await sandbox.run(`perl -e ${quoted(callScript(callProbes))}`)
    answers = new Map(
      out
        .split('\n')
        .flatMap(line => (/^\d+ \d+$/.test(line) ? [line.split(' ').map(Number) as [number, number]] : [])),
    )
  }, 60_000)
  afterAll(async () => {
    abstract.close()
    await sandbox[Symbol.asyncDispose]()
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
      const { out } = await sandbox.run(prelude + script)
      if (typeof says === 'string') expect(out.trim()).toBe(says)
      else expect(out.trim()).toMatch(says)
    })
  })
})
