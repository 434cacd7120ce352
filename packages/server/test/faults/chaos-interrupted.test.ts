import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'

const script = resolve(import.meta.dirname, '../../../../script/chaos.ts')

/** Returns the processes whose command, environment or working directory names a directory. */
async function processesAt(directory: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
  const texts = await Promise.all(
    pids.map(async pid => {
      const parts = ['cmdline', 'environ'].map(part => readFile(`/proc/${pid}/${part}`, 'utf8').catch(() => ''))
      return { pid, text: (await Promise.all(parts)).join('\0') }
    }),
  )
  return texts.filter(({ text }) => text.includes(directory)).map(({ pid, text }) => `${pid} ${text.slice(0, 200)}`)
}

async function loopDevicesAt(directory: string): Promise<readonly string[]> {
  const names = (await readdir('/sys/block')).filter(name => name.startsWith('loop'))
  const files = names.map(name => readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => ''))
  return (await Promise.all(files)).filter(file => file.includes(directory))
}

it.each(['SIGINT', 'SIGTERM', 'the end of its parent'])(
  'chaos that is interrupted by %s leaves nothing behind',
  {
    timeout: 300_000,
  },
  async interruption => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-interrupted-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const sizes = ['--sessions', '1', '--apis', '1', '--workers', '1', '--takers', '1', '--machines', '1']
    const command = [process.execPath, script, ...sizes, '--works', 'shell', '--faults', 'line', '--every-ms', '500']
    // A shell as npm is one: it does not pass on what it gets.
    const parent = spawn('/bin/sh', ['-c', 'echo $$ >&2; "$@" & echo $! >&2; wait', 'sh', ...command], {
      env: { ...process.env, TMPDIR: directory },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const lines: string[] = []
    const ended = once(parent.stderr, 'close')
    for await (const line of createInterface({ input: parent.stderr })) {
      lines.push(line)
      if (lines.length !== 3) continue
      // It has struck once, so the fleet stands.
      const [own, chaos] = lines.map(Number)
      if (interruption === 'SIGINT' || interruption === 'SIGTERM') process.kill(Number(chaos), interruption)
      else process.kill(Number(own), 'SIGKILL')
    }
    await ended
    expect(lines.at(-1)).toBe(`ended by ${interruption}; nothing is left of it`)
    expect(await processesAt(directory)).toEqual([])
    expect(await readFile('/proc/mounts', 'utf8')).not.toContain(directory)
    expect(await loopDevicesAt(directory)).toEqual([])
    expect(await readdir(directory)).toEqual([])
  },
)
