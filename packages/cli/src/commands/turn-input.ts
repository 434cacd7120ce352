import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { SubmitTurn } from '@berth/client'
import { UsageError } from '../failure.ts'
import { decodeUtf8, readUtf8 } from '../utf8.ts'

/** The service accepts 1 MiB of JSON, and base64 takes four characters for three bytes. Larger files are not read. */
const filesBytesMax = (1024 * 1024 * 3) / 4
const messageBytesMax = 1024 * 1024

/** Reads a Turn from the arguments; the message `-` reads standard input. */
export async function readTurn(
  message: string,
  files: readonly string[],
  stdin: NodeJS.ReadStream,
): Promise<SubmitTurn> {
  const text = message === '-' ? await readAll(stdin) : message
  if (text.trim() === '') throw new UsageError('the message is empty')
  if (files.length === 0) return { message: text }
  const sizes = await Promise.all(files.map(sizeOf))
  if (sizes.reduce((sum, size) => sum + size, 0) > filesBytesMax) {
    throw new UsageError(`the files are too large for one request (at most ${filesBytesMax} bytes together)`)
  }
  return { message: text, files: await Promise.all(files.map(encodeFile)) }
}

/** Reads the schema of a result that a Turn asks for; the service judges it. */
export async function readOutput(path: string | undefined): Promise<Pick<SubmitTurn, 'output'>> {
  if (path === undefined) return {}
  const text = await orUsage(path, () => readUtf8(path), 'read')
  let schema: unknown
  try {
    schema = JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${path} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
    throw new UsageError(`${path} is not a JSON Schema: it must be an object`)
  }
  return { output: { schema: schema as Readonly<Record<string, unknown>> } }
}

async function readAll(stdin: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > messageBytesMax)
      throw new UsageError(`the message is too large for one request (at most ${messageBytesMax} bytes)`)
    chunks.push(chunk)
  }
  try {
    return decodeUtf8(Buffer.concat(chunks))
  } catch (cause) {
    throw new UsageError(`cannot read the message: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    })
  }
}

async function sizeOf(path: string): Promise<number> {
  const found = await orUsage(path, () => stat(path))
  if (!found.isFile()) throw new UsageError(`cannot attach ${path}: not a file`)
  return found.size
}

async function encodeFile(path: string): Promise<{ name: string; content: string }> {
  const content = await orUsage(path, () => readFile(path))
  return { name: basename(path), content: content.toString('base64') }
}

/** @throws UsageError that names a file, if the work on it fails */
export async function orUsage<T>(path: string, work: () => Promise<T>, verb = 'attach'): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new UsageError(`cannot ${verb} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
