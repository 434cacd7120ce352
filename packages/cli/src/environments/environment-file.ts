import { writeFile } from 'node:fs/promises'
import type { Environment, EnvironmentDraft } from '@berth/client'
import { plain } from '@berth/client/documents'
import { UsageError } from '../failure.ts'
import { readUtf8 } from '../utf8.ts'

/** An environment as a file: the document to apply, and the revision that it was read from. */
export interface EnvironmentFile {
  /** Absent until the first `apply`. */
  readonly id?: string
  /** The revision that the document was read from; absent until the first `apply`. */
  readonly revision?: number
  readonly document: EnvironmentDraft
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => uuid.test(text)

/**
 * Reads the file; null if there is none. The service judges the document.
 * @throws UsageError if the file cannot be read or is no such file
 */
export async function findFile(path: string): Promise<EnvironmentFile | null> {
  let text: string
  try {
    text = await readUtf8(path)
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw new UsageError(`cannot read ${path}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  return parse(path, text)
}

/** @throws UsageError also if there is no file */
export async function requireFile(path: string): Promise<EnvironmentFile> {
  const file = await findFile(path)
  if (file === null) {
    throw new UsageError(`there is no ${path}: write one with \`berth env pull\`, or name another with --file`)
  }
  return file
}

export async function writeEnvironmentFile(path: string, { id, revision, document }: EnvironmentFile): Promise<void> {
  const { secrets: _, ...written } = document
  await writeFile(path, `${JSON.stringify({ id, revision, document: written }, null, 2)}\n`)
}

/** Returns the file of an environment's newest revision. */
export const fileOf = ({ id, revision, document }: Environment): EnvironmentFile => ({
  id,
  revision,
  document: plain(document),
})

function parse(path: string, text: string): EnvironmentFile {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new UsageError(`${path} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  if (!isObject(value)) throw new UsageError(`${path} must hold an object with the member "document"`)
  const { id, revision, document, ...others } = value
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw new UsageError(
      `${path}: "${unknown}" is not a member of the file; it holds "id", "revision" and "document", and what describes the environment belongs into "document"`,
    )
  }
  if (!isObject(document)) throw new UsageError(`${path}: "document" must be an object; \`berth env pull\` writes one`)
  if (id !== undefined && (typeof id !== 'string' || !isUuid(id))) {
    throw new UsageError(`${path}: "id" must be the id of an environment; leave it out to create one`)
  }
  if (revision !== undefined && (typeof revision !== 'number' || !Number.isSafeInteger(revision) || revision < 1)) {
    throw new UsageError(`${path}: "revision" must be a whole number above 0; \`berth env pull\` writes it`)
  }
  return {
    ...(id !== undefined && { id }),
    ...(revision !== undefined && { revision }),
    // The service judges the members; it names the wrong ones by their paths in the file.
    document: document as unknown as EnvironmentDraft,
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
