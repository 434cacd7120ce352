import { basename, dirname, resolve } from 'node:path'
import stripJsonComments from 'strip-json-comments'
import { type ExitCode, exitCode } from '../exit-code.ts'
import { UsageError } from '../failure.ts'
import type { LocalIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { readUtf8 } from '../utf8.ts'
import { findFile, writeEnvironmentFile } from './environment-file.ts'
import { type ForeignFormat, importDocument } from './import-document.ts'
import type { FileOption } from './pull.ts'

/** Writes a file for a new environment from a `devcontainer.json` or Cursor's `environment.json`. */
export async function importFile(
  source: string,
  { file: path, force, json }: FileOption & { readonly force?: boolean },
  { stdout, stderr }: LocalIo,
): Promise<ExitCode> {
  const format = formatOf(source)
  const members = parse(source, await read(source))
  const { document, leftOut } = importDocument(format, members, folderName(source))
  if (!force && (await findFile(path)) !== null) {
    throw new UsageError(`${path} exists; replace it with --force, or name another with --file`)
  }
  await writeEnvironmentFile(path, { document })
  if (json) await stdout.line(jsonLine({ file: path, format, document, leftOut }))
  else {
    const { setup = '', variables = {} } = document
    const lines = setup === '' ? 'no setup script' : `a setup script of ${setup.split('\n').length - 1} lines`
    const count = Object.keys(variables).length
    await stdout.line(
      printableLine(`wrote ${path} from ${source}: ${lines}, ${count} variable${count === 1 ? '' : 's'}`),
    )
    for (const { member, reason } of leftOut) {
      await stderr.line(`${stderr.paint('yellow', 'left out:')} ${printableLine(`${member}: ${reason}`)}`)
    }
    await stdout.line('Read it, then create the environment with `berth env apply`.')
  }
  return exitCode.completed
}

function formatOf(source: string): ForeignFormat {
  const name = basename(source)
  if (/^\.?devcontainer\.json$/.test(name)) return 'devcontainer'
  if (name === 'environment.json') return 'cursor'
  throw new UsageError(`${source} is neither a devcontainer.json nor a .cursor/environment.json`)
}

/** Returns the name of the project that a file such as `.devcontainer/devcontainer.json` belongs to. */
function folderName(source: string): string {
  const folders = dirname(resolve(source)).split('/')
  const at = folders.findLastIndex(folder => /^\.(?:devcontainer|cursor)$/.test(folder))
  return [...(folders[at === -1 ? folders.length - 1 : at - 1] || 'imported')].slice(0, 64).join('')
}

async function read(source: string): Promise<string> {
  try {
    return await readUtf8(source)
  } catch (cause) {
    throw new UsageError(`cannot read ${source}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

function parse(source: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(stripJsonComments(text.replace(/^\ufeff/, ''), { trailingCommas: true }))
  } catch (cause) {
    throw new UsageError(`${source} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(`${source} must hold an object`)
  }
  return { ...value }
}
