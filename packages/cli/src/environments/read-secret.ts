import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from '../failure.ts'
import type { CommandIo } from '../io.ts'
import { printableLine } from '../terminal-text.ts'
import { decodeUtf8 } from '../utf8.ts'

const bytesMax = 32_768

/**
 * Reads a secret's value from a prompt that shows nothing, or from a pipe. One line break at the end of a single line
 * is left out, because `echo` writes it; a value of several lines, such as a key, is taken as it is.
 * @returns null if the person interrupts the prompt
 * @throws UsageError if the value is empty, too long or not UTF-8
 */
export async function readSecret(name: string, io: CommandIo): Promise<string | null> {
  const value = io.stdin.isTTY ? await ask(name, io) : withoutBreak(await readPipe(io.stdin))
  if (value === '') throw new UsageError(`the value of ${name} is empty; nothing was written`)
  return value
}

async function ask(name: string, { stdin, stderr }: CommandIo): Promise<string | null> {
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  using input = createInterface({ input: stdin, output: hidden, terminal: true, historySize: 0 })
  const interrupted = new Promise<null>(resolve => input.once('SIGINT', () => resolve(null)))
  await stderr.write(`Value of ${printableLine(name)} (not shown): `)
  const value = await Promise.race([input.question(''), interrupted])
  await stderr.write('\n')
  return value
}

async function readPipe(stdin: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax + 2) throw new UsageError(`the value is too long (at most ${bytesMax} bytes)`)
    chunks.push(chunk)
  }
  try {
    return decodeUtf8(Buffer.concat(chunks))
  } catch {
    throw new UsageError('the value is not UTF-8; encode it first, for example with `base64`')
  }
}

const withoutBreak = (text: string): string => (/^[^\n]*\r?\n$/.test(text) ? text.replace(/\r?\n$/, '') : text)
