import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LogOutput } from './log-output.ts'
import { openLogSink } from './log-sink.ts'

let directory: string
const stack: (() => void)[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-log-'))
})
afterEach(() => {
  for (const undo of stack.splice(0).reverse()) undo()
  rmSync(directory, { recursive: true })
})

/** Creates an output on a descriptor. After a gap it writes a line with the number of dropped lines. */
function outputOn(descriptor: number, heldBytes?: number): LogOutput {
  const output = new LogOutput(openLogSink(descriptor), heldBytes === undefined ? {} : { heldBytes })
  output.onGap = dropped => output.write(`dropped ${dropped}\n`)
  return output
}

/** Waits until the output has written or dropped everything. */
async function settled(output: LogOutput): Promise<void> {
  await output.close(60_000)
}

/** Creates a named pipe without a reader, full except for less than a page. */
function fullPipe(): { path: string; reader: number } {
  const path = join(directory, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  stack.push(() => closeSync(reader))
  expect(() => {
    for (;;) writeSync(reader, Buffer.alloc(4096, 'x'))
  }).toThrow('EAGAIN')
  return { path, reader }
}

test('writes every line in order, however they are batched', async () => {
  const path = join(directory, 'log')
  const output = outputOn(openSync(path, 'w'))
  const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}\n`)
  for (const line of lines) output.write(line)
  await settled(output)
  expect(readFileSync(path, 'utf8')).toBe(lines.join(''))
  expect(output.dropped).toBe(0)
})

test('drops and counts lines for a full device', async () => {
  const output = outputOn(openSync('/dev/full', 'w'))
  for (let count = 0; count < 100; count += 1) output.write('line\n')
  await settled(output)
  expect(output.dropped).toBe(100)
})

test.runIf(process.getuid?.() === 0)(
  'keeps later lines whole after a disk filled up, and reports the gap once there is room',
  async () => {
    const disk = join(directory, 'disk')
    execFileSync('mkdir', [disk])
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8k', 'berth-test', disk])
    stack.push(() => void execFileSync('umount', [disk]))
    const path = join(disk, 'log')
    const descriptor = openSync(path, 'a')
    stack.push(() => closeSync(descriptor))
    const output = outputOn(descriptor)
    const long = `${'x'.repeat(2999)}\n`
    for (let count = 0; count < 5; count += 1) output.write(long)
    await until('a full disk', () => output.dropped === 3)
    execFileSync('mount', ['-o', 'remount,size=64k', disk])
    output.write('after\n')
    await until('the gap', () => readFileSync(path, 'utf8').includes('dropped'))
    await settled(output)
    const torn = 'x'.repeat(8192 - 6000)
    expect(readFileSync(path, 'utf8')).toBe(`${long}${long}${torn}\nafter\ndropped 3\n`)
  },
)

test('holds a bounded number of lines for a pipe without a reader, and drops and counts the others', async () => {
  const { path, reader } = fullPipe()
  const output = outputOn(openSync(path, 'w'), 1000)
  const line = `${'x'.repeat(99)}\n`
  for (let count = 0; count < 50; count += 1) output.write(line)
  expect(output.dropped).toBe(40)
  // The reader is back: the held lines come complete, and then the number of missing ones.
  let read = ''
  const chunk = Buffer.alloc(65_536)
  while (!read.includes('dropped')) {
    try {
      read += chunk.toString('utf8', 0, readSync(reader, chunk))
    } catch (error) {
      expect(error).toHaveProperty('code', 'EAGAIN')
      await new Promise(resolve => setImmediate(resolve))
    }
  }
  expect(read.slice(65_536)).toBe(`${line.repeat(10)}dropped 40\n`)
  await settled(output)
})

test('closes without waiting for a reader that does not come', async () => {
  const { path } = fullPipe()
  const output = outputOn(openSync(path, 'w'))
  output.write(`${'x'.repeat(5000)}\n`)
  output.write('last\n')
  await output.close(1)
  expect(output.dropped).toBe(2)
})

test('drops and counts lines for a pipe whose reader has gone', async () => {
  const path = join(directory, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const output = outputOn(openSync(path, 'w'))
  closeSync(reader)
  output.write('line\n')
  await until('a failed write', () => output.dropped === 1)
  output.write('line\n')
  await settled(output)
  expect(output.dropped).toBe(2)
})

test('writes the waiting lines when the process exits', () => {
  const path = join(directory, 'log')
  writeFileSync(path, '')
  const output = outputOn(openSync(path, 'a'))
  output.write('first\n')
  output.write('second\n')
  output.writeLastLines()
  expect(readFileSync(path, 'utf8')).toContain('second\n')
})
