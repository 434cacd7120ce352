import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, extname, join, relative } from 'node:path'
import { findExecutable, isExecutable } from '../find-executable.ts'

/** A program that says what is wrong in a project. */
export interface DiagnosticsProgram {
  readonly name: string
  /** The directory in which it runs. */
  readonly root: string
  readonly command: string
}

interface Known {
  /** Ends the name of the variable that names another program. */
  readonly language: string
  readonly extensions: readonly string[]
  readonly program: string
  /** Where a project has a program of its own. */
  readonly own?: string
  /** Makes a directory the root of a project; by default the working directory is. */
  readonly marker?: string
  /** @param scratch where it may keep what makes the next run faster, outside the workspace */
  readonly args: (scratch: string) => readonly string[]
}

const known: readonly Known[] = [
  {
    language: 'TS',
    extensions: ['.ts', '.tsx', '.mts', '.cts'],
    program: 'tsc',
    own: 'node_modules/.bin/tsc',
    marker: 'tsconfig.json',
    args: scratch => ['--noEmit', '--incremental', '--tsBuildInfoFile', scratch, '--pretty', 'false'],
  },
  {
    language: 'PY',
    extensions: ['.py', '.pyi'],
    program: 'ruff',
    own: '.venv/bin/ruff',
    args: () => ['check', '--quiet', '--no-fix', '--no-cache', '--output-format', 'concise'],
  },
  { language: 'GO', extensions: ['.go'], program: 'go', marker: 'go.mod', args: () => ['vet', './...'] },
  {
    language: 'RS',
    extensions: ['.rs'],
    program: 'cargo',
    marker: 'Cargo.toml',
    args: scratch => ['check', '--quiet', '--message-format', 'short', '--target-dir', scratch],
  },
]

/**
 * Returns the program that says what is wrong in the project of a file: the command of the variable
 * `AGENT_DIAGNOSTICS_<language>`, none if that is empty, or else the one that the sandbox has for the language.
 * @param path absolute
 */
export function diagnosticsProgram(path: string, cwd: string): DiagnosticsProgram | null {
  const extension = extname(path)
  const found = known.find(({ extensions }) => extensions.includes(extension))
  const variable = `AGENT_DIAGNOSTICS_${found?.language ?? extension.slice(1).toUpperCase()}`
  const configured = process.env[variable]?.trim()
  if (configured === '' || relative(cwd, path).startsWith('..')) return null
  if (configured !== undefined) return { name: variable, root: cwd, command: configured }
  if (found === undefined) return null
  const { program, own, marker, args } = found
  const above = directoriesAbove(path, cwd)
  const root = marker === undefined ? cwd : above.find(directory => existsSync(join(directory, marker)))
  const ofProject = own === undefined ? [] : above.map(directory => join(directory, own))
  const executable = ofProject.find(isExecutable) ?? findExecutable(program)
  if (root === undefined || executable === undefined) return null
  const scratch = join(tmpdir(), `berth-${program}-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`)
  return { name: program, root, command: [executable, ...args(scratch)].map(quoted).join(' ') }
}

/** Returns the directories from that of a file to the working directory. */
function directoriesAbove(path: string, cwd: string): string[] {
  const directory = dirname(path)
  return path === cwd || directory === path ? [] : [directory, ...directoriesAbove(directory, cwd)]
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
