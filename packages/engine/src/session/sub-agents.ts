import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseFrontmatter } from '@earendil-works/pi-coding-agent'
import { type Effort, isEffort } from './effort.ts'

/** Directories in which repositories define sub-agents; the first definition of a name counts. */
const directories = ['.agents/agents', '.claude/agents'] as const
const MAX_DEFINITIONS = 20
const MAX_DESCRIPTION = 300
const MAX_INSTRUCTIONS = 64 * 1024
const wholeName = /^[a-z0-9][a-z0-9-]{0,63}$/

/** A sub-agent as a repository defines it. */
export interface SubAgent {
  readonly name: string
  /** When to give it a task. */
  readonly description: string
  readonly instructions: string
  /** Id or alias of a model; absent for the model of the agent that delegates. */
  readonly model?: string
  /** Absent for the effort of the agent that delegates. */
  readonly effort?: Effort
}

/** Reads the definitions of a workspace, in the order of their names. Files that are none are left out. */
export function loadSubAgents(cwd: string): readonly SubAgent[] {
  const found = new Map<string, SubAgent>()
  for (const directory of directories) {
    for (const file of filesOf(join(cwd, directory))) {
      const definition = readDefinition(file)
      if (definition !== null && !found.has(definition.name)) found.set(definition.name, definition)
    }
  }
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, MAX_DEFINITIONS)
}

function filesOf(directory: string): readonly string[] {
  try {
    const names = readdirSync(directory).filter(name => name.endsWith('.md'))
    return names.sort().map(name => join(directory, name))
  } catch {
    return []
  }
}

function readDefinition(file: string): SubAgent | null {
  try {
    const { frontmatter, body } = parseFrontmatter(readFileSync(file, 'utf8'))
    const { name, description, model, effort } = frontmatter
    if (typeof name !== 'string' || !wholeName.test(name) || typeof description !== 'string') return null
    return {
      name,
      description: description.replaceAll(/\s+/g, ' ').slice(0, MAX_DESCRIPTION),
      instructions: body.trim().slice(0, MAX_INSTRUCTIONS),
      ...(typeof model === 'string' && model !== '' && { model }),
      ...(isEffort(effort) && { effort }),
    }
  } catch {
    return null
  }
}
