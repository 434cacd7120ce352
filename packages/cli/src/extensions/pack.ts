import { createHash } from 'node:crypto'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { LocalIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { manifestOf } from './manifest.ts'

export interface PackOptions {
  readonly output?: string
  readonly json?: boolean
}

const MANIFEST = 'extension.json'
/** Directories that belong to the author's tools. */
const skipped = new Set(['.git', '.hg', '.svn'])
/** The same directory packs to the same bytes, and so to the same digest. */
const mtime = new Date(Date.UTC(1980, 0, 1, 12))

/** Packs a directory into the archive of an extension. It changes nothing in the directory. */
export async function pack(directory: string, { output, json }: PackOptions, io: LocalIo): Promise<ExitCode> {
  const { text, id, version, source, leftOut } = await manifestOf(directory)
  const target = output ?? `${id}-${version}.zip`
  const zip = new ZipFile()
  const options = { mtime, forceDosTimestamp: true, compressionLevel: 9 }
  zip.addBuffer(Buffer.from(text), MANIFEST, { ...options, mode: 0o100644 })
  let count = 1
  for (const name of await filesOf(directory, '')) {
    const path = join(directory, name)
    if (name === MANIFEST || resolve(path) === resolve(target)) continue
    const isExecutable = ((await stat(path)).mode & 0o100) !== 0
    zip.addBuffer(await readFile(path), name, { ...options, mode: isExecutable ? 0o100755 : 0o100644 })
    count += 1
  }
  zip.end()
  const content = await buffer(zip.outputStream)
  await writeFile(target, content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const { stdout, stderr } = io
  if (json) await stdout.line(jsonLine({ file: target, id, version, sha256, sizeBytes: content.length, leftOut }))
  else {
    const made = source === MANIFEST ? '' : `, with an ${MANIFEST} made from ${source}`
    await stdout.line(printableLine(`packed ${id} ${version} into ${target}: ${count} files${made}`))
    await stdout.line(printableLine(`sha256:${sha256}`))
    for (const member of leftOut) {
      await stderr.line(
        `${stderr.paint('yellow', 'left out:')} ${printableLine(`${member}: this platform has nothing for it`)}`,
      )
    }
  }
  return exitCode.completed
}

/** Returns the files below a directory by name, so that their order does not depend on the file system. */
async function filesOf(root: string, below: string): Promise<readonly string[]> {
  const entries = await readdir(join(root, below), { withFileTypes: true })
  const found: string[] = []
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`
    if (entry.isDirectory()) {
      if (!skipped.has(entry.name)) found.push(...(await filesOf(root, name)))
    } else if (entry.isFile()) found.push(name)
    else throw new UsageError(`${name} is neither a file nor a directory; an extension cannot hold it`)
  }
  return found
}
