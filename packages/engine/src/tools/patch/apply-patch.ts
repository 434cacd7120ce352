import { lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { changeFile } from '../files/change-file.ts'
import { decodeFile, wellFormed } from '../files/text-file.ts'
import { textResult } from '../text-result.ts'
import { applyChunks } from './apply-chunks.ts'
import { type Chunk, type FileChange, parsePatch } from './parse-patch.ts'

const Parameters = Type.Object({ input: Type.String({ description: 'The patch' }) })

/** A change for people: `oldText` is null for a new file. */
export interface PatchDiff {
  readonly path: string
  readonly oldText: string | null
  readonly newText: string
}

/** Names of models that are trained on this form of patches, in their provider's words. */
const family = /(?:^|\/)(?:gpt-(?:[5-9]|4\.1|oss)|codex|o[3-9]\b)/i

/** Returns whether a model is trained on `apply_patch`. */
export const isTrainedOnPatches = (providerModel: string): boolean => family.test(providerModel)

/** Returns the tool by which models of OpenAI change files. No file is changed unless the whole patch fits. */
export function applyPatch(cwd: string) {
  return defineTool({
    name: 'apply_patch',
    label: 'apply_patch',
    description:
      'Change, add, delete and move files by a patch: `*** Begin Patch`, then for each file `*** Update File: <path>` (and `*** Move to: <path>`) with chunks of lines that begin with a space, - or +, each chunk below an `@@` with a line above it if its lines are not unique; or `*** Add File: <path>` with lines that begin with +; or `*** Delete File: <path>`; then `*** End Patch`.',
    parameters: Parameters,
    async execute(id, { input }, signal, _onUpdate, context) {
      const changes = parsePatch(input)
      for (const change of changes) await contentAfter(cwd, change)
      const reported: string[] = []
      for (const change of changes) {
        signal?.throwIfAborted()
        // Once more, now that nobody else changes the file.
        await changeFile(cwd, { id, path: change.path, signal, context }, async () => {
          reported.push(await carryOut(cwd, change, await contentAfter(cwd, change)))
          return ''
        })
      }
      return { ...textResult(reported.join('\n')), details: { diffs: changes.flatMap(diffsOf) } }
    },
  })
}

/**
 * Returns a file's bytes after a change; null if it is deleted.
 * @throws Error if the change does not fit
 */
async function contentAfter(cwd: string, change: FileChange): Promise<Buffer | null> {
  const { kind, path } = change
  const refuse = (why: string) => new Error(`Nothing was changed: ${path}: ${why}`)
  const target = kind === 'update' ? change.to : kind === 'add' ? path : null
  const isThere =
    target !== null &&
    (await lstat(resolve(cwd, target)).then(
      () => true,
      () => false,
    ))
  if (isThere) throw refuse(`there is ${target} already. Update it, or delete it first.`)
  if (kind === 'add') return wellFormed(change.text)
  const bytes = await readFile(resolve(cwd, path)).catch((error: NodeJS.ErrnoException) => {
    throw refuse(error.code === 'ENOENT' ? 'there is no such file.' : `it cannot be read: ${error.code}`)
  })
  if (kind === 'delete') return null
  const file = decodeFile(bytes)
  if (file === null) throw refuse('it is not text. Change it with a program in bash.')
  try {
    return file.encode(
      applyChunks(
        file.text,
        change.chunks.map(chunk => givenIn(chunk, file.given)),
      ),
    )
  } catch (error) {
    throw refuse((error as Error).message)
  }
}

const givenIn = (chunk: Chunk, given: (text: string) => string): Chunk => ({
  ...chunk,
  anchors: chunk.anchors.map(given),
  lines: chunk.lines.map(line => ({ ...line, text: given(line.text) })),
})

async function carryOut(cwd: string, change: FileChange, content: Buffer | null): Promise<string> {
  const path = resolve(cwd, change.path)
  if (content === null) {
    await rm(path)
    return `Deleted ${change.path}.`
  }
  const to = change.kind === 'update' && change.to !== null ? resolve(cwd, change.to) : path
  await mkdir(dirname(to), { recursive: true })
  await writeFile(to, content)
  if (to !== path) await rm(path)
  return change.kind === 'add'
    ? `Added ${change.path}.`
    : `Updated ${change.path}${to === path ? '' : `, now ${change.kind === 'update' ? change.to : ''}`}.`
}

function diffsOf(change: FileChange): PatchDiff[] {
  if (change.kind === 'delete') return []
  if (change.kind === 'add') return [{ path: change.path, oldText: null, newText: change.text }]
  const side = (chunk: Chunk, without: '+' | '-') =>
    chunk.lines
      .filter(({ kind }) => kind !== without)
      .map(({ text }) => `${text}\n`)
      .join('')
  return change.chunks.map(chunk => ({
    path: change.to ?? change.path,
    oldText: side(chunk, '+'),
    newText: side(chunk, '-'),
  }))
}
