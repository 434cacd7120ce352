import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { homeRules } from '@berth/core/checkpoints/home-rules.ts'
import { homeLimits } from '@berth/core/checkpoints/limits.ts'
import { restoreTree } from '@berth/core/checkpoints/restore-tree.ts'
import { sealTree } from '@berth/core/checkpoints/seal-tree.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type LowerTrees,
  type SandboxBounds,
  type SandboxDriver,
  SandboxGoneError,
  type SandboxSpec,
} from '../driver.ts'
import { openLeaseAuthority } from '../egress/edge/lease-authority.ts'
import { diskExceeded, type LeaseScript, TreeUnfinishedError } from '../lease-program.ts'
import { treeOf } from '../tree.ts'

/** A driver under test, with the facts that the suite needs. */
export interface ContractSubject {
  readonly driver: SandboxDriver
  /** Path of Node inside its sandboxes. */
  readonly node: string
  /** Bounds that keep the tests quick. */
  readonly bounds: SandboxBounds
  /** Host paths that no sandbox may see. */
  readonly hostPaths: readonly string[]
  /** What its sandboxes see of the kernel besides `/proc`: `sys` is a read-only sysfs of their own network namespace. */
  readonly shows: { readonly sys: boolean }
  /** The bounds that this host enforces on the whole sandbox; this suite cannot test weaker forms of them. */
  readonly enforces: { readonly cpu: boolean; readonly wholeMemory: boolean; readonly exactDisk: boolean }
  /**
   * What its sandboxes cannot have: a user of their own each (`users`); programs beside them that see only the trees they are
   * for, and files that their owner has closed to itself (`confinement`); a network without interfaces (`emptyNetwork`); a file of
   * authorities in place of their system's (`coveredBundle`).
   */
  readonly lacks?: {
    readonly users?: true
    readonly confinement?: true
    readonly emptyNetwork?: true
    readonly coveredBundle?: true
  }
  /** Creates the sandbox in another process of the service, which is then killed without a chance to clean up. */
  createInProcessThatIsKilled(spec: SandboxSpec): Promise<void>
  dispose(): Promise<void>
}

/**
 * A stand-in for the supervisor. It runs each script sent to it, up to the end of the stream, and answers with exit
 * code and output. Like the supervisor, it stops and continues all other processes. No script can make it exit.
 */
const standIn = `
  const { spawn } = require('node:child_process')
  process.on('uncaughtException', () => {})
  require('node:net').createServer({ allowHalfOpen: true }, socket => {
    let script = ''
    socket.on('data', part => {
      script += part
      if (/^{"park".*\\n/.test(script)) socket.end('{"resume":null}\\n')
    })
    socket.on('end', () => {
      if (socket.writableEnded) return
      const { all } = /^{"all"/.test(script) ? JSON.parse(script) : {}
      if (all) {
        try { process.kill(-1, 'SIG' + all) } catch {}
        return socket.end(script)
      }
      const child = spawn('/bin/bash', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] })
      let out = ''
      child.stdout.on('data', part => { out += part })
      child.stderr.on('data', part => { out += part })
      child.on('error', error => socket.end(JSON.stringify({ code: -1, out: String(error) })))
      child.on('exit', (code, signal) => socket.end(JSON.stringify({ code: code ?? signal, out })))
    })
  }).listen({ fd: 3 })`

interface Ran {
  readonly code: number | string
  readonly out: string
}

/** The tree program as it was built, which a driver under test needs among its bundles. */
export const builtTreeProgram = join(import.meta.dirname, '../../../supervisor/dist/tree.cjs')

/** Tests that every sandbox driver must pass; a driver's own test calls it with a factory. */
export function sandboxDriverContract(name: string, makeSubject: () => Promise<ContractSubject>): void {
  describe(`${name}: sandbox driver contract`, () => {
    let subject: ContractSubject
    let count = 0
    const made: string[] = []

    beforeAll(async () => {
      process.env.BERTH_TEST_CANARY = 'canary-of-the-worker'
      subject = await makeSubject()
    })
    afterAll(async () => {
      for (const leaseId of made) await subject.driver.destroy(leaseId)
      await subject.dispose()
      delete process.env.BERTH_TEST_CANARY
    })

    const specFor = (changes: Partial<SandboxSpec> = {}): SandboxSpec => {
      const leaseId = `contract-${process.pid}-${count++}`
      made.push(leaseId)
      const command = [subject.node, '-e', standIn]
      return { leaseId, command, bounds: subject.bounds, mounts: [], egress: { reach: [] }, ...changes }
    }
    const make = async (changes: Partial<SandboxSpec> = {}) => {
      const spec = specFor(changes)
      await subject.driver.create(spec)
      return spec.leaseId
    }
    /** Freezes a sandbox. Without a freezer of the kernel, an order is one attempt to stop all of its processes. */
    const frozen = (leaseId: string) =>
      until('all have stopped', async () => {
        await subject.driver.freeze(leaseId)
        return (await subject.driver.stateOf(leaseId)) === 'frozen'
      })
    const run = async (leaseId: string, script: string): Promise<Ran> => {
      const socket = await subject.driver.attach(leaseId)
      socket.end(script)
      return JSON.parse(await text(socket)) as Ran
    }
    /** Runs a script beside a sandbox. */
    const script = async (
      leaseId: string,
      lines: string,
      trees: LeaseScript['trees'],
      changes: Partial<LeaseScript> = {},
    ): Promise<Ran> => {
      const bounds = { memoryBytes: 256 * 1024 ** 2, cpuSeconds: 60, fileBytes: 64 * 1024 ** 2 }
      const environment = { PATH: '/usr/bin:/bin', LC_ALL: 'C' }
      const program = await subject.driver.run(leaseId, {
        ...{ kind: 'script', script: lines, environment, trees, readsAll: false, bounds },
        ...changes,
      })
      program.input.end()
      const [output, ended] = await Promise.all([text(program.output), program.ended])
      const [code = '', ...errors] = ended.split(' ')
      return { code: Number.isNaN(Number(code)) ? code : Number(code), out: output + errors.join(' ') }
    }
    const out = async (leaseId: string, script: string) => (await run(leaseId, script)).out.trim()
    const gone = async (leaseId: string) => {
      try {
        ;(await subject.driver.attach(leaseId)).destroy()
        return false
      } catch (error) {
        if (error instanceof SandboxGoneError) return true
        throw error
      }
    }

    describe('a process inside', () => {
      let one: string
      let other: string
      beforeAll(async () => {
        one = await make()
        other = await make()
      })

      it('runs as its own user, without capabilities and without a way to gain privileges', async () => {
        const [uid, otherUid] = await Promise.all([out(one, 'id -u'), out(other, 'id -u')])
        expect(Number(uid)).toBeGreaterThan(0)
        if (!subject.lacks?.users) expect(uid).not.toBe(otherUid)
        const status = await out(one, 'cat /proc/self/status')
        expect(status).toMatch(/^CapEff:\t0+$/m)
        expect(status).toMatch(/^CapBnd:\t0+$/m)
        expect(status).toMatch(/^NoNewPrivs:\t1$/m)
        expect(status).toMatch(/^Seccomp:\t2$/m)
        expect(await out(one, 'id -un; id -G; echo $HOME')).toBe(`agent\n${uid}\n/home/agent`)
      })

      it('sees only its own processes', async () => {
        const hostPids = (await readdir('/proc')).filter(entry => /^\d+$/.test(entry)).length
        const seen = (
          await out(one, 'ls /proc | grep -c "^[0-9]"; cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " "')
        ).split('\n')
        expect(Number(seen[0])).toBeLessThan(Math.min(hostPids, 12))
        expect(await out(one, `kill -0 ${process.pid} 2>&1; echo $?`)).toMatch(/1$/)
        expect((await run(one, `ls /proc/${process.pid}/environ`)).code).not.toBe(0)
      })

      it('sees nothing of the host or of other leases', async () => {
        await run(other, 'echo secret > /workspace/secret; echo secret > /tmp/secret; echo secret > /home/agent/secret')
        const found = 'find / -xdev -not -path "/proc/*" -name secret 2>/dev/null; ls /workspace /tmp /home/agent'
        expect(await out(one, found)).not.toContain('secret')
        for (const path of subject.hostPaths) expect((await run(one, `ls -d ${path}`)).code, path).not.toBe(0)
        expect(await out(one, 'find / -xdev \\( -name journal -o -name s -type s \\) 2>/dev/null')).toBe('')
        expect((await run(one, 'cat /etc/shadow')).code).not.toBe(0)
      })

      it('inherits neither environment nor descriptors of the worker', async () => {
        const environments = 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"; env'
        expect(await out(one, environments)).not.toMatch(/canary|BERTH_/)
        // The first command's descriptors: its streams, listener and journal, and those that Node opens itself.
        const links =
          'for p in /proc/[0-9]*; do grep -qs listen $p/cmdline && ls -l $p/fd 2>/dev/null; done | grep -o "> .*"'
        const open = await out(one, links)
        expect(open).not.toMatch(/arguments|record|leases\/[^/]+\/run/)
        expect(
          open.split('\n').filter(line => /> \//.test(line) && !/\/dev\/null|journal|log|anon/.test(line)),
        ).toEqual([])
      })

      it('cannot write to the system, the platform or devices', async () => {
        for (const path of [
          '/usr/x',
          '/etc/x',
          '/x',
          '/opt/berth/x',
          '/run/berth/x',
          '/workspace/.berth/x',
          '/dev/x',
        ]) {
          expect((await run(one, `touch ${path}`)).code, path).not.toBe(0)
        }
        expect((await run(one, 'echo x >> /etc/passwd')).code).not.toBe(0)
        expect((await run(one, 'echo 1 > /proc/sys/kernel/panic')).code).not.toBe(0)
        expect((await run(one, 'mount -t tmpfs none /tmp')).code).not.toBe(0)
        expect(
          (await run(one, 'for d in /workspace /tmp /home/agent /dev/shm; do touch $d/x || exit 1; done')).code,
        ).toBe(0)
      })

      it('has no network but its own loopback', async () => {
        const server = createServer((_, response) => response.end('host')).listen(0, '127.0.0.1')
        await new Promise(resolve => server.once('listening', resolve))
        const { port } = server.address() as AddressInfo
        try {
          const { sys } = subject.shows
          const interfaces = subject.lacks?.emptyNetwork ? 'eth0\nlo' : 'lo'
          expect(await out(one, 'ls /sys/class/net 2>/dev/null')).toBe(sys ? interfaces : '')
          expect((await run(one, 'ls -d /sys/fs/cgroup')).code === 0 && !sys).toBe(false)
          expect((await run(one, 'touch /sys/x || mkdir /sys/fs/cgroup/x')).code).not.toBe(0)
          expect(await out(one, 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | sort')).toBe(interfaces)
          expect((await run(one, `exec 5<>/dev/tcp/127.0.0.1/${port}`)).code).not.toBe(0)
          if (!subject.lacks?.emptyNetwork) expect(await out(one, 'tail -n +2 /proc/net/route')).toBe('')
        } finally {
          server.close()
        }
      })

      it('trusts the authority of its lease, if it has one, beside those of its system', async () => {
        const trust = await openLeaseAuthority(Buffer.alloc(32, 5), 'contract', ['api.example.com']).trust()
        const trusting = await make({ trust })
        const line = trust.certificate.split('\n')[1] ?? ''
        const [directory, bundle] = ['/run/berth/trust', '/etc/ssl/certs/ca-certificates.crt']
        const count = (leaseId: string, path: string, text: string) =>
          out(leaseId, `[ -e ${path} ] && grep -cF -- '${text}' ${path}`)
        expect(await count(trusting, `${directory}/certs/${trust.hash}.0`, line)).toBe('1')
        expect(await count(trusting, `${directory}/certs/ca-certificates.crt`, line)).toBe('1')
        const all = Number(await count(trusting, `${directory}/certs/ca-certificates.crt`, 'BEGIN CERTIFICATE'))
        expect(all).toBeGreaterThan(10)
        const magic = `process.stdout.write(require('fs').readFileSync('${directory}/truststore.jks').toString('hex', 0, 4))`
        expect(await out(trusting, `${subject.node} -e "${magic}"`)).toBe('feedfeed')
        expect((await run(trusting, `touch ${directory}/x || : >> ${directory}/truststore.jks`)).code).not.toBe(0)
        const system = await count(one, bundle, 'BEGIN CERTIFICATE')
        if (system !== '' && !subject.lacks?.coveredBundle) {
          expect(Number(await count(trusting, bundle, 'BEGIN CERTIFICATE'))).toBe(Number(system) + 1)
        }
        expect((await run(one, `ls ${directory}; grep -qF -- '${line}' ${bundle}`)).code).not.toBe(0)
      })

      it('reaches the proxy, which refuses targets that are not allowed', async () => {
        const response = await out(
          one,
          'curl -s -m 10 --unix-socket /run/berth/proxy.sock -x "" -H "Host: example.com" http://x/',
        )
        expect(response).toContain('this is a proxy')
        expect((await run(one, 'rm -f /run/berth/proxy.sock')).code).not.toBe(0)
      })

      it('has a private terminal session and host name', async () => {
        expect(await out(one, 'hostname')).toBe('berth')
        expect((await run(one, 'exec 5<>/dev/tty')).code).not.toBe(0)
      })
    })

    describe('bounds', () => {
      it('limit memory', async () => {
        const lease = await make()
        const bytes = subject.enforces.wholeMemory
          ? subject.bounds.memoryBytes
          : Math.max(subject.bounds.memoryBytes, 2 ** 30)
        const fill = `const a=[]; for (let n=0; n<${Math.ceil(bytes / 2 ** 20) * 2}; n++) a.push(Buffer.alloc(2**20, 1)); console.log('all')`
        const ran = await run(lease, `echo 1000 > /proc/self/oom_score_adj; ${subject.node} -e "${fill}"`)
        expect(ran.code).not.toBe(0)
        expect(ran.out).not.toContain('all')
      })

      it('limit processes', async () => {
        const lease = await make()
        const fork = `
          let failed = 0
          for (let n = 0; n < ${subject.bounds.processes * 2}; n++) {
            try { require('node:child_process').spawn('sleep', ['100'], { stdio: 'ignore' }).on('error', () => failed++) } catch { failed++ }
          }
          setTimeout(() => { console.log(failed); process.exit() })`
        const failed = Number(await out(lease, `${subject.node} -e '${fork.replaceAll("'", '"')}'`))
        expect(failed).toBeGreaterThanOrEqual(subject.bounds.processes)
        await subject.driver.destroy(lease)
      })

      it('limit CPU time', async ({ skip }) => {
        skip(!subject.enforces.cpu)
        const lease = await make({ bounds: { ...subject.bounds, cpus: 0.2 } })
        // Compares CPU time with wall time of one busy loop, so a slow machine changes nothing.
        const spin =
          'const w=process.hrtime.bigint(); while (process.hrtime.bigint()-w < 2000000000n); const u=process.cpuUsage(); console.log(u.user+u.system)'
        expect(Number(await out(lease, `${subject.node} -e "${spin}"`))).toBeLessThan(1_000_000)
      })

      it('limit the size of one file', async () => {
        const bounds = { ...subject.bounds, fileSizeBytes: 1024 * 1024 }
        const lease = await make({ bounds })
        const ran = await run(
          lease,
          'dd if=/dev/zero of=/workspace/big bs=64k count=64 2>&1; stat -c %s /workspace/big',
        )
        expect(ran.out).toMatch(/^1048576$/m)
      })

      it('limit disk usage', async () => {
        const lease = await make({ bounds: { ...subject.bounds, diskBytes: 32 * 1024 * 1024 } })
        const fill = 'for n in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/workspace/$n bs=1M count=8 || exit 1; done'
        if (subject.enforces.exactDisk) {
          const ran = await run(lease, fill)
          expect(ran.code).toBe(1)
          expect(ran.out).toContain('No space left')
        } else {
          // The sandbox may be ended before the script ends.
          await run(lease, fill).catch(() => undefined)
          await until('the sandbox over its disk bound is ended', () => gone(lease))
        }
      })
    })

    describe('a sandbox', () => {
      it('ends with destroy, even with hundreds of processes that ignore signals in their own sessions', async () => {
        const lease = await make({ bounds: { ...subject.bounds, processes: 300 } })
        // An ignored signal stays ignored after `exec`.
        const one = `setsid bash -c 'trap "" TERM INT HUP; exec sleep 1000' >/dev/null 2>&1 </dev/null &`
        await run(lease, `for ((n=0; n<200; n++)); do ${one} done`)
        await until('all are there', async () => (await out(lease, 'pgrep -c -x sleep')) === '200')
        await subject.driver.destroy(lease)
        expect(await gone(lease)).toBe(true)
        expect(await subject.driver.list()).not.toContain(lease)
        await subject.driver.destroy(lease)
      })

      it('outlives the process that created it, even if that is killed', async () => {
        const spec = specFor()
        await subject.createInProcessThatIsKilled(spec)
        expect(await subject.driver.list()).toContain(spec.leaseId)
        expect(await out(spec.leaseId, 'echo alive')).toBe('alive')
        await subject.driver.serveProxy(spec.leaseId, { reach: [] })
        expect(
          await out(spec.leaseId, 'curl -s --unix-socket /run/berth/proxy.sock --request-target http://x/ http://x/'),
        ).toContain('may not reach')
        await subject.driver.destroy(spec.leaseId)
        expect(await subject.driver.list()).not.toContain(spec.leaseId)
      })

      it('has its lease id to itself', async () => {
        const spec = specFor()
        const answers = await Promise.allSettled([subject.driver.create(spec), subject.driver.create(spec)])
        expect(answers.map(answer => answer.status).toSorted()).toEqual(['fulfilled', 'rejected'])
        expect(await out(spec.leaseId, 'echo alive')).toBe('alive')
      })

      it('is gone if its command cannot run or has ended', async () => {
        for (const command of [['/no/such/command'], ['true']]) {
          const lease = await make({ command })
          await until('the sandbox is gone', () => gone(lease))
          expect(await subject.driver.list()).toContain(lease)
          await subject.driver.destroy(lease)
        }
      })

      it('can be frozen, thawed and destroyed while its processes fork without end', async () => {
        const { driver } = subject
        const lease = await make()
        // Each one becomes an orphan as soon as it has started the next.
        await run(lease, "echo 'echo x >> log; setsid bash fork &' > fork; bash fork >/dev/null 2>&1 </dev/null")
        // Also while the sandbox is frozen.
        const written = async () =>
          Number((await script(lease, 'stat -c %s /workspace/log', { workspace: 'read' })).out)
        expect(await driver.stateOf(lease)).toBe('running')
        expect(await driver.thaw(lease)).toBe(false)
        await frozen(lease)
        const before = await written()
        // Creating another sandbox takes long enough for a running process to fork many times.
        await make()
        expect(await written()).toBe(before)
        expect(await driver.thaw(lease)).toBe(true)
        await until('more is written', async () => (await written()) > before)
        await frozen(lease)
        await driver.destroy(lease)
        expect(await gone(lease)).toBe(true)
        expect(await driver.stateOf(lease)).toBe('gone')
      })

      it('is not parked if its command does not agree, and runs on', async () => {
        const lease = await make()
        expect(await subject.driver.park(lease, 1)).toBe(false)
        expect(await subject.driver.stateOf(lease)).toBe('running')
        expect(await out(lease, 'echo still here')).toBe('still here')
      })

      it('loses with endOrphans only the orphans since its last thaw or keepOrphans, and their descendants', async () => {
        const { driver } = subject
        const lease = await make()
        const orphan = (name: string) =>
          `setsid bash -c 'exec -a ${name} bash -c "sleep 600; :"' >/dev/null 2>&1 </dev/null &`
        const names = async () =>
          (
            await out(lease, 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep -x -E "old|kept|young"; :')
          ).split('\n')
        await run(lease, orphan('old'))
        await until('the first is there', async () => (await names()).includes('old'))
        await frozen(lease)
        await driver.thaw(lease)
        await run(lease, orphan('kept'))
        await until('the second is there', async () => (await names()).includes('kept'))
        await driver.keepOrphans(lease)
        await run(lease, orphan('young'))
        await until('the third is there', async () => (await names()).includes('young'))
        await driver.endOrphans(lease)
        // A busy machine takes a while to let a killed process end, and to let a new one change its name.
        await until('the third has ended', async () => !(await names()).includes('young'))
        expect([...new Set(await names())].toSorted()).toEqual(['kept', 'old'])
      })

      it('is reported gone if it never existed', async () => {
        await expect(subject.driver.attach('never-was')).rejects.toBeInstanceOf(SandboxGoneError)
        await expect(subject.driver.serveProxy('never-was', { reach: [] })).rejects.toBeInstanceOf(SandboxGoneError)
        await expect(subject.driver.writeInputs('never-was', 0, [])).rejects.toBeInstanceOf(SandboxGoneError)
        await subject.driver.freeze('never-was')
        expect(await subject.driver.thaw('never-was')).toBe(false)
        expect(await subject.driver.stateOf('never-was')).toBe('gone')
        await subject.driver.endOrphans('never-was')
        await expect(subject.driver.keepOrphans('never-was')).rejects.toBeInstanceOf(SandboxGoneError)
        await subject.driver.destroy('never-was')
      })

      it('is refused an id that is not a name, and leaves nothing behind when create fails', async () => {
        for (const leaseId of ['', '..', 'a/b', '-x', 'x'.repeat(65)]) {
          await expect(subject.driver.create({ ...specFor(), leaseId })).rejects.toBeInstanceOf(TypeError)
        }
        for (const changes of [
          { mounts: ['/no/such/directory'] },
          { mounts: ['/'] },
          { mounts: ['relative'] },
          { egress: { reach: ['http://127.0.0.1:1/path'] } },
          { bounds: { ...subject.bounds, memoryBytes: 0 } },
          { command: [] },
        ]) {
          const spec = specFor(changes)
          await expect(subject.driver.create(spec)).rejects.toBeInstanceOf(Error)
          expect(await subject.driver.list()).not.toContain(spec.leaseId)
        }
      })
    })

    describe('inputs', () => {
      it('are complete and readable, and can be neither written nor replaced', async () => {
        const lease = await make()
        const files = [
          { name: 'täx t.txt', content: Buffer.from('hello') },
          { name: 'b', content: Buffer.alloc(0) },
        ]
        await subject.driver.writeInputs(lease, 3, files)
        await subject.driver.writeInputs(lease, 3, files)
        expect(await out(lease, 'cat "/workspace/.berth/inputs/3/täx t.txt"; ls /workspace/.berth/inputs')).toBe(
          'hello3',
        )
        for (const attack of [
          'echo x > /workspace/.berth/inputs/3/b',
          'rm /workspace/.berth/inputs/3/b',
          'ln -s /etc /workspace/.berth/inputs/4',
          'mv /workspace/.berth/inputs /workspace/old',
          'mv /workspace/.berth /workspace/old',
          'rm -rf /workspace/.berth',
          'chmod 777 /workspace/.berth/inputs',
        ]) {
          expect((await run(lease, attack)).code, attack).not.toBe(0)
        }
        await subject.driver.writeInputs(lease, 4, [{ name: 'c', content: Buffer.from('later') }])
        expect(await out(lease, 'cat /workspace/.berth/inputs/4/c')).toBe('later')
        for (const name of ['', '.', '..', 'a/b', 'a\0b']) {
          const bad = subject.driver.writeInputs(lease, 5, [{ name, content: Buffer.alloc(0) }])
          await expect(bad).rejects.toBeInstanceOf(TypeError)
        }
      })
    })

    describe('a program beside a sandbox', () => {
      let lease: string
      beforeAll(async () => {
        lease = await make()
        await run(lease, 'echo theirs > /workspace/file; echo home > ~/file; echo closed > /workspace/closed')
        await run(lease, 'chmod 0 /workspace/closed; mkdir ~/directory; ln -s /etc ~/link')
      })

      it('sees the trees that it is for, at their paths inside and as their owner, and nothing else', async () => {
        const seen = await script(lease, 'cat /workspace/file; ls ~agent/ /home/agent; id -u', { workspace: 'read' })
        expect(seen.out).toMatch(/^theirs\n/)
        if (!subject.lacks?.confinement) expect(seen.out).not.toContain('file\n')
        expect((await script(lease, 'id -u; cat /home/agent/file', { home: 'read' })).out).toBe(
          `${await out(lease, 'id -u')}\nhome\n`,
        )
        for (const path of subject.hostPaths) {
          const { code } = await script(lease, `ls -d ${path}/.`, { workspace: 'read' })
          expect(code === 0 && path.startsWith('/sys') ? !subject.shows.sys : code === 0, path).toBe(false)
        }
        expect((await script(lease, `ls -d /proc/${process.pid}`, {})).code).not.toBe(0)
      })

      it('writes only where it may, as the sandbox finds it, and reads what is closed only if it may', async () => {
        const { confinement: unconfined } = subject.lacks ?? {}
        if (!unconfined) {
          expect((await script(lease, 'touch /workspace/new', { workspace: 'read' })).code).not.toBe(0)
        }
        expect((await script(lease, 'echo mine > /workspace/new', { workspace: 'write' })).code).toBe(0)
        expect(await out(lease, 'echo more >> /workspace/new; cat /workspace/new')).toBe('mine\nmore')
        expect((await script(lease, 'cat /workspace/closed', { workspace: 'read' })).code).not.toBe(0)
        const all = await script(lease, 'cat /workspace/closed', { workspace: 'read' }, { readsAll: true })
        if (!unconfined) expect(all.out).toBe('closed\n')
      })

      it('has a directory of its own within a bound, which is new for each', async () => {
        const scratch = { directories: ['a', 'a/b'], files: { 'a/b/file': 'given' }, bytes: 16 * 1024 ** 2 }
        for (const _ of ['first', 'second']) {
          const seen = await script(lease, 'cd /scratch; cat a/b/file; ls; touch left', {}, { scratch })
          expect(seen).toEqual({ code: 0, out: 'givena\n' })
        }
        const fill = 'dd if=/dev/zero of=/scratch/big bs=1M count=48 2>/dev/null; sleep 600'
        const over = await script(lease, fill, {}, { scratch })
        expect(`${over.code} ${over.out}`).toBe(diskExceeded)
      })

      it('is refused for paths that lead elsewhere', async () => {
        const bytes = 16 * 1024 ** 2
        for (const path of ['../out', 'a/../../out', '/tmp/out', '']) {
          const made = script(lease, 'true', {}, { scratch: { directories: [path], files: {}, bytes } })
          await expect(made, path).rejects.toBeInstanceOf(TypeError)
          const written = script(lease, 'true', {}, { scratch: { directories: [], files: { [path]: 'out' }, bytes } })
          await expect(written, path).rejects.toBeInstanceOf(TypeError)
          await expect(subject.driver.hasDirectory(lease, 'workspace', [path]), path).rejects.toBeInstanceOf(TypeError)
        }
        const tree = 'host' as 'home'
        await expect(subject.driver.run(lease, { kind: 'tree', tree, access: 'read' })).rejects.toBeInstanceOf(
          TypeError,
        )
      })

      it('is ended by its caller', async () => {
        const bounds = { memoryBytes: 256 * 1024 ** 2, cpuSeconds: 60, fileBytes: 1024 }
        const environment = { PATH: '/usr/bin:/bin' }
        const started = await subject.driver.run(lease, {
          ...{ kind: 'script', script: 'echo up; sleep 600', environment, trees: {}, readsAll: false, bounds },
        })
        await new Promise(resolve => started.output.once('data', resolve))
        started.kill()
        expect(await started.ended).not.toBe('0')
      })

      it('keeps baselines of a tree that another run reads, and none of a tree that is not whole', async () => {
        const { driver } = subject
        const begin = async (access: 'read' | 'write', previous?: string) => {
          const baseline = { series: 'contract', ...(previous !== undefined && { previous }) }
          const program = await driver.run(lease, { kind: 'tree', tree: 'workspace', access, baseline })
          program.kill()
          await program.ended
          return program.baseline ?? { id: '', hasPrevious: false }
        }
        const [one, two] = ['1'.repeat(64), '2'.repeat(64)]
        const first = await begin('read', one)
        expect(first.hasPrevious).toBe(false)
        await driver.settleBaseline(lease, 'contract', first.id, { kept: one })
        const second = await begin('read', one)
        expect(second.hasPrevious).toBe(true)
        await driver.settleBaseline(lease, 'contract', second.id, { kept: two, previous: one })
        expect([(await begin('read', one)).hasPrevious, (await begin('read', two)).hasPrevious]).toEqual([true, true])
        const broken = await begin('write')
        await driver.settleBaseline(lease, 'contract', broken.id, 'abandoned')
        await expect(begin('read', two)).rejects.toBeInstanceOf(TreeUnfinishedError)
        const cleared = await begin('write')
        await driver.settleBaseline(lease, 'contract', cleared.id, 'cleared')
        expect((await begin('read', two)).hasPrevious).toBe(true)
        for (const series of ['../home', 'a/b', '']) {
          await expect(driver.settleBaseline(lease, series, cleared.id, 'cleared')).rejects.toBeInstanceOf(TypeError)
        }
      })

      it('seals a home without its caches, and restores it into another sandbox', async () => {
        const directory = await mkdtemp(join(tmpdir(), 'berth-contract-'))
        try {
          const blobs = await FileBlobs.open(directory)
          const [from, to] = [await make(), await make()]
          const lines = [
            'cd; mkdir -p bin .cache/a .cargo/registry .berth-outbox placed/skill; ln -s / out; mkfifo pipe',
            "printf 'echo tool' > bin/tool; chmod 4755 bin/tool; ln bin/tool bin/same; touch .cache/a/copy placed/skill/one",
          ]
          expect((await run(from, lines.join('; '))).code).toBe(0)
          const shared = { blobs, limits: homeLimits }
          const exclude = homeRules({ state: [], placed: ['placed/skill'] })
          const sealed = await sealTree({ ...shared, tree: treeOf(subject.driver, from, 'home'), exclude })
          if (sealed.kind !== 'sealed') throw new Error(`over the cap of ${sealed.cap}`)
          await restoreTree({ ...shared, tree: treeOf(subject.driver, to, 'home'), manifest: sealed.manifest })
          const list = "cd; bash bin/tool; stat -c '%a %h' bin/tool; readlink out; find . -mindepth 1 | sort"
          expect(await out(to, list)).toBe('tool\n755 2\n/\n./.cargo\n./bin\n./bin/same\n./bin/tool\n./out\n./placed')
        } finally {
          await rm(directory, { recursive: true, force: true })
        }
      })

      it('is not needed to find a directory, and no link counts as one', async () => {
        const { driver } = subject
        expect(await driver.hasDirectory(lease, 'home', ['none', 'directory'])).toBe(true)
        expect(await driver.hasDirectory(lease, 'home', ['none', 'file', 'link'])).toBe(false)
        expect(await driver.hasDirectory(lease, 'workspace', ['directory'])).toBe(false)
      })

      it('does not start for a sandbox that is not there', async () => {
        await expect(script('never-was', 'true', {})).rejects.toBeInstanceOf(SandboxGoneError)
        await expect(subject.driver.hasDirectory('never-was', 'home', [])).rejects.toBeInstanceOf(SandboxGoneError)
      })
    })

    describe('lower trees', () => {
      let directory: string
      beforeAll(async () => {
        directory = await mkdtemp(join(tmpdir(), 'berth-contract-lower-'))
        const script = `
          set -e; cd "$1"; mkdir base top; cd base; mkdir -p lib/inner sub; echo base > lib/inner/file; echo data > data
          ln data same; ln -s data link; chmod 600 data; for n in 1 2 3; do echo $n > sub/$n; done
          git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm all; cd ../top; mkdir lib; echo top > lib/top
          [ -z "$2" ] || chown -hR "$2:$2" "$1/base" "$1/top"`
        const uid = subject.driver.lowerOwner()?.uid ?? ''
        execFileSync('bash', ['-c', script, 'bash', directory, String(uid)])
      })
      afterAll(() => rm(directory, { recursive: true, force: true }))

      const project = () => ({ project: [join(directory, 'top'), join(directory, 'base')] }) as const
      const showing = (places: LowerTrees['places']) => ({ lower: { places, baselines: {} } })
      /** Returns everything about the trees that an agent could change, also by way of an inode. */
      const snapshot = () => {
        const script =
          'cd "$1"; find . -printf "%P %i %m %U %n %s %T@ %C@ %l\\n" | sort; find . -type f -exec sha256sum {} + | sort'
        return execFileSync('bash', ['-c', script, 'bash', directory], { encoding: 'utf8' })
      }

      it('are refused by a driver that shows none', async ({ skip }) => {
        skip(subject.driver.lowerOwner() !== null, 'this one shows them')
        const spec = specFor(showing(project()))
        await expect(subject.driver.create(spec)).rejects.toBeInstanceOf(TypeError)
        expect(await subject.driver.list()).not.toContain(spec.leaseId)
      })

      it('stay as they are whatever an agent does, in twenty sandboxes at once', async ({ skip }) => {
        skip(subject.driver.lowerOwner() === null, 'this driver shows none')
        const before = snapshot()
        const number = process.arch === 'x64' ? 188 : 5
        const setxattr = `my ($p, $n, $v) = ("sub", $ARGV[0], "y"); exit(syscall(${number}, $p, $n, $v, 1, 0) < 0)`
        const script = `
          set -e; cd /workspace/project; cat lib/inner/file lib/top; git status --porcelain
          mv lib moved; mv moved/inner other; mv other sub/other; cat sub/other/file moved/top
          ln data linked; echo more >> linked; cat data link; ln sub/1 sub/one; chmod 444 sub/one; stat -c %h sub/1
          for name in whiteout sub/2; do if mknod $name c 0 0 2> /dev/null; then echo $name; fi; done
          for n in trusted.overlay.opaque trusted.overlay.redirect; do if perl -e '${setxattr}' $n; then echo $n; fi; done
          perl -e '${setxattr}' user.overlay.opaque || :; cat sub/3
          rm -r sub/other; mkdir sub/other; ls sub/other
          git add -A; git -c user.name=a -c user.email=a@b commit -qm changed; git gc -q --prune=now; git fsck --strict
          chmod -R 700 .; chmod -R a-w sub; chmod -R u+w sub; chmod 0 moved; chmod 700 moved
          find . -mindepth 1 -delete; ls -A; echo end`
        const wanted = 'base\ntop\n?? lib/top\nbase\ntop\ndata\nmore\ndata\nmore\n2\n3\nend\n'
        const each = async () => run(await make(showing(project())), script)
        const all = await Promise.all(Array.from({ length: 20 }, each))
        expect(all).toEqual(all.map(() => ({ code: 0, out: wanted })))
        expect(await out(await make(showing({ workspace: project().project })), 'cat /workspace/lib/*/file')).toBe(
          'base',
        )
        expect(snapshot()).toBe(before)
      })
    })

    it('says how each bound is enforced', () => {
      const lines = subject.driver.describe()
      for (const bound of ['memory', 'processes', 'cpu', 'file size', 'disk', 'between Runs']) {
        expect(lines.filter(line => line.startsWith(`${bound}:`))).toHaveLength(1)
      }
    })
  })
}
