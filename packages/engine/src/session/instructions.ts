import { closeSync, constants, fstatSync, lstatSync, opendirSync, openSync, readSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import type { AgentSession } from '@earendil-works/pi-coding-agent'
import { alternativesOf, fitsSome } from '../tools/files/fits-globs.ts'

/** Longest text of one file that the model sees. */
const MAX_BYTES = 64 * 1024
const MAX_RULES = 50
/** Entries below a directory of rules that are looked at. */
const MAX_ENTRIES = 1000
/** Characters of a rule's globs; what has more is for no file. */
const MAX_GLOBS = 2048
const MAX_DESCRIPTION = 300
const INSTRUCTIONS = 'instructions'
const rulesDirectory = join('.cursor', 'rules')
/** Of a directory the first of them counts. */
const instructionFiles = ['AGENTS.override.md', 'AGENTS.md', 'AGENTS.MD', 'CLAUDE.md', 'CLAUDE.MD'] as const

/** Instructions of a repository: a file, and its text for the model. */
export interface Instruction {
  readonly path: string
  readonly content: string
}

/** A rule as Cursor has it, and the files that it is for. */
interface Rule extends Instruction {
  readonly description: string
  readonly isFor: readonly string[]
  readonly isAlways: boolean
}

/** Returns the instructions that hold for all work in a directory: AGENTS.md or CLAUDE.md of it and those above, and rules. */
export const instructionsOf = (cwd: string, agentDir: string): readonly Instruction[] => [
  ...instructionOf(agentDir),
  ...ancestors(cwd, '/').flatMap(instructionOf),
  ...rulesIn(cwd).filter(({ isAlways }) => isAlways),
]

/** Returns a line for each rule that the model itself is to choose. */
export const chosenRules = (cwd: string): readonly string[] =>
  rulesIn(cwd)
    .filter(({ isAlways, isFor, description }) => !isAlways && isFor.length === 0 && description !== '')
    .map(({ path, description }) => `Read ${relative(cwd, path)} if this is what you do: ${description}`)

/**
 * Returns the instructions that hold for files below the working directory beside those that hold for all of it, the nearest
 * last.
 * @param isKnown whether the model has a file's text already
 */
export function instructionsFor(
  files: readonly string[],
  cwd: string,
  isKnown: (path: string) => boolean,
): readonly Instruction[] {
  const found = new Map<string, Instruction>()
  for (const file of files) {
    const below = relative(cwd, file)
    if (below.startsWith('..') || below.split(sep).includes('node_modules')) continue
    const directories = ancestors(file, cwd)
    for (const directory of directories) {
      const nested = directory === cwd ? [] : instructionOf(directory)
      const rules = rulesIn(directory).filter(
        ({ isAlways, isFor }) =>
          (isAlways && directory !== cwd) || isFor.some(glob => fits(relative(directory, file), glob)),
      )
      for (const { path, content } of [...nested, ...rules]) found.set(path, { path, content })
    }
  }
  return [...found.values()].filter(({ path }) => !isKnown(path))
}

/** Returns the instructions as a message to the model. */
export const instructionsMessage = (instructions: readonly Instruction[]) =>
  ({
    customType: INSTRUCTIONS,
    content: [
      'The repository has instructions for files that you work on. Where they differ from those of a directory above, these count.',
      ...instructions.map(({ path, content }) => `${beginningOf(path)}${content}\n</project_instructions>`),
    ].join('\n\n'),
    display: false,
    details: undefined,
  }) as const

/** Returns true if a conversation has the instructions of a file; a summary leaves them out. */
export const hasInstructions = (messages: AgentSession['messages'], path: string): boolean =>
  messages.some(
    message =>
      message.role === 'custom' &&
      message.customType === INSTRUCTIONS &&
      String(message.content).includes(beginningOf(path)),
  )

const beginningOf = (path: string): string => `<project_instructions path="${path}">\n`

/** Returns the instructions of one directory. */
function instructionOf(directory: string): readonly Instruction[] {
  for (const name of instructionFiles) {
    const path = join(directory, name)
    const content = beginning(path)
    if (content !== null) return [{ path, content: content.replace(/^\uFEFF/, '') }]
  }
  return []
}

/** Returns a file and the directories above it down from the topmost. A file may itself be a directory. */
function ancestors(file: string, topmost: string): readonly string[] {
  const directories: string[] = []
  for (let at = file; at.length > topmost.length; at = dirname(at)) directories.unshift(at)
  return [topmost, ...directories]
}

/** Without a slash a glob is about names, as Cursor takes it. */
const fits = (file: string, glob: string): boolean =>
  fitsSome(file, alternativesOf(glob)?.map(one => (one.includes('/') ? one : `**/${one}`)) ?? [])

function rulesIn(directory: string): readonly Rule[] {
  const root = join(directory, rulesDirectory)
  let names: readonly string[]
  try {
    if (![dirname(root), root].every(path => lstatSync(path).isDirectory())) return []
    names = filesBelow(root)
  } catch {
    return []
  }
  return names
    .filter(name => name.endsWith('.mdc'))
    .toSorted()
    .slice(0, MAX_RULES)
    .flatMap(readRule)
}

/** Returns the files below a directory. Links are none, and not followed: one may lead back here, or to all of the machine. */
function filesBelow(root: string): readonly string[] {
  const files: string[] = []
  const directories = [root]
  let left = MAX_ENTRIES
  for (const directory of directories) {
    using opened = opendirSync(directory)
    for (let entry = opened.readSync(); entry !== null && left > 0; entry = opened.readSync()) {
      left -= 1
      if (entry.isDirectory()) directories.push(join(directory, entry.name))
      else if (entry.isFile()) files.push(join(directory, entry.name))
    }
  }
  return files
}

/** Cursor writes globs as YAML does not allow them, so the head is read by its lines. */
function readRule(path: string): readonly Rule[] {
  const text = beginning(path)
  if (text === null) return []
  const [whole = '', head = ''] = /^---\r?\n([\s\S]*?)\r?\n---\r?\n?/.exec(text) ?? []
  const [description = '', globs = '', always = ''] = ['description', 'globs', 'alwaysApply'].map(
    key => new RegExp(`^${key}:((?:.*)(?:\\n[ \\t]*-.*)*)`, 'm').exec(head)?.[1]?.trim() ?? '',
  )
  const listed = globs.length > MAX_GLOBS ? [] : globs.split(/[,\n[\]](?![^{}\n]*\})/)
  const isFor = listed.map(glob => glob.trim().replaceAll(/^- *|["']/g, ''))
  return [
    {
      path,
      content: text.slice(whole.length).trim(),
      description: description.replaceAll(/^["']|["']$/g, '').slice(0, MAX_DESCRIPTION),
      isFor: isFor.filter(glob => glob !== ''),
      isAlways: always === 'true',
    },
  ]
}

/** Returns a file's text, cut at the bound; null if it is no file or cannot be read. A pipe keeps nobody waiting. */
function beginning(path: string): string | null {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return null
  }
  try {
    if (!fstatSync(file).isFile()) return null
    const bytes = Buffer.alloc(MAX_BYTES + 1)
    return cut(bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0)))
  } catch {
    return null
  } finally {
    closeSync(file)
  }
}

const cut = (content: string): string =>
  content.length <= MAX_BYTES ? content : `${content.slice(0, MAX_BYTES)}\n[cut: the file goes on]`
